"""Windows that every n-th arriving record defines; otherwise like `slide_by_tuple`.

The n-th, 2n-th, … data record of a unit, counting late ones, defines a window; the unit must lie in
one lane.

Source: Li et al., SIGMOD 2005, section 4.5; which record of n is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from windowing.semantics.units import Item, Unit, in_one_lane
from windowing.semantics.windows.slide_by_tuple import AtRecordsDefinition


class SlideByNDefinition(AtRecordsDefinition):
    """Windows that every n-th arriving record defines."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Return the n-th record, the 2n-th, and so on.

        Raises:
            ArrivalOrderError: two lanes carry the unit.
        """
        slide = self.query.window.slide
        return in_one_lane(unit)[slide - 1 :: slide]
