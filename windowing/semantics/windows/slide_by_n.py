"""Windows that every n-th record to arrive defines; otherwise as `slide_by_tuple`.

The n-th, 2n-th, … data record of a unit defines a window, late ones counted too; the unit must lie
in one lane.

Source: Li et al., SIGMOD 2005, section 4.5; which record of n is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from windowing.semantics.units import Item, Unit, in_one_lane
from windowing.semantics.windows.slide_by_tuple import AtRecordsDefinition


class SlideByNDefinition(AtRecordsDefinition):
    """Windows that every n-th record to arrive defines."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """The n-th record, the 2n-th, and so on.

        Raises:
            ArrivalOrderError: two lanes carry the unit.
        """
        slide = self.query.window.slide
        return in_one_lane(unit)[slide - 1 :: slide]
