"""The classes of windows that the engine has: for each, a lane's part and a shard's.

A new class is a file in `windowing/engine/windows/assign/`, one in
`windowing/engine/windows/emission/`, and a line here. The two agree on the tables of partial states
that travel between them; nobody else looks into those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from windowing.engine import wids
from windowing.engine.windows.assign.defined import DefinedAssigner
from windowing.engine.windows.assign.joins import JoinAssigner
from windowing.engine.windows.assign.ranked import RankedAssigner
from windowing.engine.windows.assign.sessions import SessionAssigner
from windowing.engine.windows.assign.sliding import SlidingAssigner
from windowing.engine.windows.chains import GAP, LAST
from windowing.engine.windows.emission.defined import DefinedEmitter
from windowing.engine.windows.emission.joins import JoinEmitter
from windowing.engine.windows.emission.landmark import LandmarkEmitter
from windowing.engine.windows.emission.ranked import RankedEmitter
from windowing.engine.windows.emission.sessions import SessionEmitter
from windowing.engine.windows.emission.sliding import SlidingEmitter
from windowing.engine.windows.part import LanePart, ShardPart
from windowing.model import Pipeline, Query
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.classes import known_class
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.traits import Ends, Order
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


def _lane_of_rows(query: Query, pipeline: Pipeline) -> LanePart:
    # A row numbered by its lane is a record whose attribute is its number.
    ranked = query.window.traits.order is Order.CANONICAL
    return (RankedAssigner if ranked else SlidingAssigner)(query, pipeline)


def _shard_of_rows(query: Query, pipeline: Pipeline) -> ShardPart:
    if query.window.traits.order is Order.CANONICAL:
        return RankedEmitter(query, pipeline)
    cumulative = query.window.traits.cumulative
    return (LandmarkEmitter if cumulative else SlidingEmitter)(query, pipeline)


PARTS: dict[type[Window], Parts] = {
    Sliding: Parts(SlidingAssigner, SlidingEmitter),
    Landmark: Parts(SlidingAssigner, LandmarkEmitter),
    RowWindow: Parts(_lane_of_rows, _shard_of_rows),
    SlideByTuple: Parts(DefinedAssigner, DefinedEmitter),
    SlideByN: Parts(DefinedAssigner, DefinedEmitter),
    SlideByRank: Parts(DefinedAssigner, DefinedEmitter),
    Session: Parts(SessionAssigner, SessionEmitter),
    Pairs: Parts(JoinAssigner, JoinEmitter),
}
"""The one place that knows which class of windows is evaluated how."""


def parts_of(query: Query) -> Parts:
    """How a query is evaluated."""
    return PARTS[known_class(query.window)]


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that an emitter made."""
    if query.window.traits.ends is Ends.DRAWN:
        # Their sum may leave 64 bits, as ends of other windows may.
        ends = zip(rows[LAST].to_list(), rows[GAP].to_list(), strict=True)
        starts = rows["window_id"].to_list()
        return [(start, sum(end)) for start, end in zip(starts, ends, strict=True)]
    return [wids.bounds_of(query.window, wid) for wid in rows["window_id"]]
