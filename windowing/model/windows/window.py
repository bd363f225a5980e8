"""A window as data, and the classes of windows.

Source: as of `windowing.model.windows.language`, which makes windows out of text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from windowing.model.windows.traits import Ends, Order, Traits

ROW_NUM = "row_num"


class WindowClass(StrEnum):
    """The classes of the window language, by how a record finds its windows; and joins."""

    SLIDING = "sliding"
    LANDMARK = "landmark"
    TUPLE = "tuple"
    SLIDE_BY_TUPLE = "slide_by_tuple"
    SLIDE_BY_N = "slide_by_n"
    SLIDE_BY_RANK = "slide_by_rank"
    SESSION = "session"
    JOIN = "join"


@dataclass(frozen=True)
class Window:
    """A window as data: `RANGE r SLIDE s WATTR a …`, with every length in the attribute's own unit.

    Attributes:
        kind: the class that follows from the clauses.
        range_: length of an extent (microseconds, rows or plain numbers); None for LANDMARK; of
            sessions the distance of two records that parts them.
        slide: distance of two window ends, or the number of rows between two windows.
        attribute: the windowing attribute (WATTR or RATTR); `row_num` for tuple-based windows.
        origin: where window 0 begins to count; the smallest legal value of the attribute.
        pattr: attribute whose values split the stream before windows are made, or None.
        order: for windows over `row_num`: rows are numbered in `log` or `event_time` order.
        align: `end`: ends lie at the origin plus whole slides, and what begins before the origin is
            clipped there. `start`: starts do, before the origin too, and nothing is clipped.
        gaps: for sessions: the distances of single keys that have another one.
    """

    kind: WindowClass
    range_: int | None
    slide: int
    attribute: str
    origin: int = 0
    pattr: str | None = None
    order: Literal["log", "event_time"] = "log"
    align: Literal["end", "start"] = "end"
    gaps: tuple[tuple[int | str, int], ...] = ()

    @property
    def traits(self) -> Traits:
        """What code that handles every class alike may ask."""
        if self.kind is WindowClass.TUPLE:
            return _row_traits(self)
        if self.kind is WindowClass.SESSION and self.attribute == ROW_NUM:
            return _SESSIONS_OF_ROWS
        return _TRAITS[self.kind]


_TRAITS = {
    WindowClass.SLIDING: Traits(
        order=Order.FREE, ends=Ends.SLIDES, per_key=True, revisable=True, shows_early=True
    ),
    WindowClass.LANDMARK: Traits(
        order=Order.FREE,
        ends=Ends.SLIDES,
        per_key=True,
        revisable=True,
        shows_early=True,
        cumulative=True,
    ),
    WindowClass.SLIDE_BY_TUPLE: Traits(order=Order.FREE, ends=Ends.AT_RECORDS, revisable=True),
    WindowClass.SLIDE_BY_N: Traits(order=Order.LANE, ends=Ends.AT_RECORDS, revisable=True),
    WindowClass.SLIDE_BY_RANK: Traits(order=Order.CANONICAL, ends=Ends.AT_RECORDS),
    WindowClass.SESSION: Traits(
        order=Order.FREE,
        ends=Ends.DRAWN,
        per_key=True,
        revisable=True,
        shows_early=True,
        merging=True,
    ),
    WindowClass.JOIN: Traits(order=Order.FREE, ends=Ends.DRAWN, revisable=True),
}
# Rows of all keys are counted, and no row is late.
_SESSIONS_OF_ROWS = Traits(order=Order.LANE, ends=Ends.DRAWN, shows_early=True, merging=True)


def _row_traits(window: Window) -> Traits:
    arrivals = window.order == "log"
    return Traits(
        order=Order.LANE if arrivals else Order.CANONICAL,
        ends=Ends.ROWS,
        shows_early=arrivals,
        cumulative=window.range_ is None,
    )
