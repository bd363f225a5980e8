"""The classes of windows that the engine has: for each, who assigns and who emits.

A new class is a file in `windowing/engine/windows/assign/`, one in
`windowing/engine/windows/emission/`, and a line here. The two agree on the tables of partial states
that travel between them; nobody else looks into those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from windowing.engine import wids
from windowing.engine.windows.assign.assigner import Assigner
from windowing.engine.windows.assign.defined import DefinedAssigner
from windowing.engine.windows.assign.joins import JoinAssigner
from windowing.engine.windows.assign.ranked import RankedAssigner
from windowing.engine.windows.assign.sessions import SessionAssigner
from windowing.engine.windows.assign.sliding import SlidingAssigner
from windowing.engine.windows.chains import GAP, LAST
from windowing.engine.windows.emission.defined import DefinedEmitter
from windowing.engine.windows.emission.emitter import Emitter
from windowing.engine.windows.emission.joins import JoinEmitter
from windowing.engine.windows.emission.landmark import LandmarkEmitter
from windowing.engine.windows.emission.ranked import RankedEmitter
from windowing.engine.windows.emission.sessions import SessionEmitter
from windowing.engine.windows.emission.sliding import SlidingEmitter
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
class EngineClass:
    """How the engine evaluates one class of windows.

    Attributes:
        assigner: makes a lane's part of a query.
        emitter: makes a shard's part of a query.
    """

    assigner: Callable[[Query, Pipeline], Assigner]
    emitter: Callable[[Query, Pipeline], Emitter]


_CLASSES: dict[type[Window], EngineClass] = {
    Sliding: EngineClass(SlidingAssigner, SlidingEmitter),
    Landmark: EngineClass(SlidingAssigner, LandmarkEmitter),
    SlideByTuple: EngineClass(DefinedAssigner, DefinedEmitter),
    SlideByN: EngineClass(DefinedAssigner, DefinedEmitter),
    SlideByRank: EngineClass(DefinedAssigner, DefinedEmitter),
    Session: EngineClass(SessionAssigner, SessionEmitter),
    Pairs: EngineClass(JoinAssigner, JoinEmitter),
}


def class_of(query: Query) -> EngineClass:
    """How a query is evaluated."""
    window = query.window
    if not isinstance(window, RowWindow):
        return _CLASSES[known_class(window)]
    if window.traits.order is Order.CANONICAL:
        return EngineClass(RankedAssigner, RankedEmitter)
    # A row numbered by its lane is a record whose attribute is its number.
    return _CLASSES[Landmark if window.traits.cumulative else Sliding]


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that an emitter made."""
    if query.window.traits.ends is Ends.DRAWN:
        # Their sum may leave 64 bits, as ends of other windows may.
        ends = zip(rows[LAST].to_list(), rows[GAP].to_list(), strict=True)
        starts = rows["window_id"].to_list()
        return [(start, sum(end)) for start, end in zip(starts, ends, strict=True)]
    return [wids.bounds_of(query.window, wid) for wid in rows["window_id"]]
