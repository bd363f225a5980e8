"""The classes of windows that the engine has: for each, a lane's part and a shard's.

A new class is a file in `windowing/engine/windows/` with both parts, and a line here. The two agree
on the tables of partial states that travel between them; nobody else looks into those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from windowing.engine import wids
from windowing.engine.windows import evaluation
from windowing.engine.windows.by_record import AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.chains import GAP, LAST
from windowing.engine.windows.evaluation import Evaluation
from windowing.engine.windows.join import JoinLanePart, JoinShardPart
from windowing.engine.windows.landmark import LandmarkShardPart
from windowing.engine.windows.part import LanePart, ShardPart
from windowing.engine.windows.rows import RankedLanePart, RankedShardPart, numbered_part
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
        return Parts(RankedLanePart, RankedShardPart, evaluation.RANKED)
    # A row numbered by its lane is a record whose attribute is its number.
    return Parts(SlidingLanePart, numbered_part(window), evaluation.NUMBERED)


def _of_sessions(window: Window) -> Parts:
    what = "rows of other keys" if window.traits.counts_arrivals else "time"
    return Parts(SessionLanePart, SessionShardPart, evaluation.chained(what))


PARTS: dict[type[Window], Parts | Callable[[Window], Parts]] = {
    Sliding: Parts(SlidingLanePart, SlidingShardPart, evaluation.SLICES),
    Landmark: Parts(SlidingLanePart, LandmarkShardPart, evaluation.CUMULATIVE),
    RowWindow: _of_rows,
    SlideByTuple: Parts(AtRecordsLanePart, AtRecordsShardPart, evaluation.DEFINED),
    SlideByN: Parts(AtRecordsLanePart, AtRecordsShardPart, evaluation.DEFINED),
    SlideByRank: Parts(AtRecordsLanePart, AtRecordsShardPart, evaluation.DEFINED_BY_RANK),
    Session: _of_sessions,
    Pairs: Parts(JoinLanePart, JoinShardPart, evaluation.PAIRED),
}
"""The one place that knows which class of windows is evaluated how."""


def parts_of(window: Window) -> Parts:
    """Give the parts that evaluate a window."""
    found = PARTS[known_class(window)]
    return found if isinstance(found, Parts) else found(window)


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that a shard's part made."""
    if query.window.traits.ends is Ends.DRAWN:
        # Their sum may leave 64 bits, as ends of other windows may.
        ends = zip(rows[LAST].to_list(), rows[GAP].to_list(), strict=True)
        starts = rows["window_id"].to_list()
        return [(start, sum(end)) for start, end in zip(starts, ends, strict=True)]
    return [wids.bounds_of(query.window, wid) for wid in rows["window_id"]]
