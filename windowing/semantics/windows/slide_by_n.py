"""Windows that every n-th record to arrive defines; otherwise as `slide_by_tuple`.

The n-th, 2n-th, … data record of a unit defines a window, late ones counted too; the unit must lie
in one lane.

Source: Li et al., SIGMOD 2005, section 4.5; which record of n is ours.
"""

from __future__ import annotations

from windowing.model.file.pipeline import Query
from windowing.semantics.units import Holding, Item, Unit, in_one_lane
from windowing.semantics.windows import slide_by_tuple
from windowing.semantics.windows.slide_by_tuple import closed, extent, lateness, takes

__all__ = ["closed", "extent", "hold", "lateness", "takes"]


def hold(query: Query, unit: Unit) -> list[Holding]:
    """What each window holds of a unit.

    Raises:
        ArrivalOrderError: two lanes carry the unit.
    """
    return slide_by_tuple.hold_defined(query, unit, _every_nth)


def _every_nth(query: Query, unit: Unit) -> list[Item]:
    slide = query.window.slide
    return list(in_one_lane(unit))[slide - 1 :: slide]
