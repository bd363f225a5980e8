"""Windows that every n-th record in canonical order defines; otherwise like `slide_by_tuple`.

On-time records are ranked over all lanes of the unit. A rank is final once progress has passed the
record, and no window closes before that.

Source: Li et al., SIGMOD 2005, section 4.6; which record of n is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from windowing.semantics.units import Item, Unit
from windowing.semantics.windows.slide_by_tuple import AtRecordsDefinition


class SlideByRankDefinition(AtRecordsDefinition):
    """Windows that every n-th record in canonical order defines."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Return the n-th, 2n-th, … on-time record in canonical order."""
        on_time = [item for item in unit.items if item.progress <= item.value]
        slide = self.query.window.slide
        return sorted(on_time, key=lambda item: item.canonical)[slide - 1 :: slide]
