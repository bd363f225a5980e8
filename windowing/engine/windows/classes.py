"""The classes of windows that the engine has: for each, a lane's part and a shard's.

A new class is a file in `windowing/engine/windows/` with both parts, and a line here. The two agree
on the tables of partial states that travel between them; nobody else looks into those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from windowing.engine import wids
from windowing.engine.columns import AT_LAST, GAP, WINDOW_ID
from windowing.engine.windows.by_record import AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.join import JoinLanePart, JoinShardPart
from windowing.engine.windows.landmark import LandmarkShardPart
from windowing.engine.windows.part import LanePart, ShardPart
from windowing.engine.windows.rows import lane_of_rows, shard_of_rows
from windowing.engine.windows.session import SessionLanePart, SessionShardPart
from windowing.engine.windows.sliding import SlidingLanePart, SlidingShardPart
from windowing.model import Pipeline, Query
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.classes import known_class
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class Parts:
    """How the engine evaluates one class of windows.

    Attributes:
        lane: makes a lane's part of a query.
        shard: makes a shard's part of a query.
    """

    lane: Callable[[Query, Pipeline], LanePart]
    shard: Callable[[Query, Pipeline], ShardPart]


PARTS: dict[type[Window], Parts] = {
    Sliding: Parts(SlidingLanePart, SlidingShardPart),
    Landmark: Parts(SlidingLanePart, LandmarkShardPart),
    RowWindow: Parts(lane_of_rows, shard_of_rows),
    SlideByTuple: Parts(AtRecordsLanePart, AtRecordsShardPart),
    SlideByN: Parts(AtRecordsLanePart, AtRecordsShardPart),
    SlideByRank: Parts(AtRecordsLanePart, AtRecordsShardPart),
    Session: Parts(SessionLanePart, SessionShardPart),
    Pairs: Parts(JoinLanePart, JoinShardPart),
}
"""The one place that knows which class of windows is evaluated how."""


def parts_of(query: Query) -> Parts:
    """How a query is evaluated."""
    return PARTS[known_class(query.window)]


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that a shard's part made."""
    if query.window.traits.ends is Ends.DRAWN:
        # Their sum may leave 64 bits, as ends of other windows may.
        ends = zip(rows[AT_LAST].to_list(), rows[GAP].to_list(), strict=True)
        starts = rows[WINDOW_ID].to_list()
        return [(start, sum(end)) for start, end in zip(starts, ends, strict=True)]
    return [wids.bounds_of(query.window, wid) for wid in rows[WINDOW_ID]]
