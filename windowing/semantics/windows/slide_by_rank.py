"""Windows that every n-th record in canonical order defines; otherwise as `slide_by_tuple`.

Ranked are the records on time, over all lanes of the unit. A rank is final once progress has passed
the record, and no window closes before that.

Source: Li et al., SIGMOD 2005, section 4.6; which record of n is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from windowing.semantics.units import Item, Unit
from windowing.semantics.windows.slide_by_tuple import AtRecordsDefinition


class SlideByRankDefinition(AtRecordsDefinition):
    """Windows that every n-th record in canonical order defines."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Of the records on time the n-th in canonical order, the 2n-th, and so on."""
        on_time = [item for item in unit.items if item.progress <= item.value]
        slide = self.query.window.slide
        return sorted(on_time, key=lambda item: item.canonical)[slide - 1 :: slide]
