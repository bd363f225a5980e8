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
from windowing.engine.windows import evaluation
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
from windowing.engine.windows.evaluation import Evaluation
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
        lane: the class of a lane's part of a query.
        shard: the class of a shard's part of a query.
        evaluation: what the two do together, and why.
    """

    lane: Callable[[Query, Pipeline], LanePart]
    shard: Callable[[Query, Pipeline], ShardPart]
    evaluation: Evaluation


def _of_rows(window: Window) -> Parts:
    if window.traits.order is Order.CANONICAL:
        return Parts(RankedAssigner, RankedEmitter, evaluation.RANKED)
    # A row numbered by its lane is a record whose attribute is its number.
    shard = LandmarkEmitter if window.traits.cumulative else SlidingEmitter
    return Parts(SlidingAssigner, shard, evaluation.NUMBERED)


def _of_sessions(window: Window) -> Parts:
    what = "rows of other keys" if window.traits.counts_arrivals else "time"
    return Parts(SessionAssigner, SessionEmitter, evaluation.chained(what))


PARTS: dict[type[Window], Parts | Callable[[Window], Parts]] = {
    Sliding: Parts(SlidingAssigner, SlidingEmitter, evaluation.SLICES),
    Landmark: Parts(SlidingAssigner, LandmarkEmitter, evaluation.CUMULATIVE),
    RowWindow: _of_rows,
    SlideByTuple: Parts(DefinedAssigner, DefinedEmitter, evaluation.DEFINED),
    SlideByN: Parts(DefinedAssigner, DefinedEmitter, evaluation.DEFINED),
    SlideByRank: Parts(DefinedAssigner, DefinedEmitter, evaluation.DEFINED_BY_RANK),
    Session: _of_sessions,
    Pairs: Parts(JoinAssigner, JoinEmitter, evaluation.PAIRED),
}
"""The one place that knows which class of windows is evaluated how."""


def parts_of(window: Window) -> Parts:
    """Give the parts that evaluate a window."""
    found = PARTS[known_class(window)]
    return found if isinstance(found, Parts) else found(window)


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that an emitter made."""
    if query.window.traits.ends is Ends.DRAWN:
        # Their sum may leave 64 bits, as ends of other windows may.
        ends = zip(rows[LAST].to_list(), rows[GAP].to_list(), strict=True)
        starts = rows["window_id"].to_list()
        return [(start, sum(end)) for start, end in zip(starts, ends, strict=True)]
    return [wids.bounds_of(query.window, wid) for wid in rows["window_id"]]
