"""Windows that every n-th record in canonical order defines; otherwise as `slide_by_tuple`.

Ranked are the records on time, over all lanes of the unit. A rank is final once progress has passed
the record, and no window closes before that.

Source: Li et al., SIGMOD 2005, section 4.6; which record of n is ours.
"""

from __future__ import annotations

from windowing.model.file.pipeline import Query
from windowing.semantics.units import Holding, Item, Unit
from windowing.semantics.windows import slide_by_tuple
from windowing.semantics.windows.slide_by_tuple import closed, extent, lateness, takes

__all__ = ["closed", "extent", "hold", "lateness", "takes"]


def hold(query: Query, unit: Unit) -> list[Holding]:
    """What each window holds of a unit."""
    return slide_by_tuple.hold_defined(query, unit, _every_nth_in_order)


def _every_nth_in_order(query: Query, unit: Unit) -> list[Item]:
    on_time = [item for item in unit.items if item.progress <= item.value]
    slide = query.window.slide
    return sorted(on_time, key=lambda item: item.canonical)[slide - 1 :: slide]
