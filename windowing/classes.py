"""The classes of windows that the engine has: for each, who assigns and who emits.

A new class is a file in `windowing/assign/`, one in `windowing/emission/`, and a line here. The two
agree on the tables of partial states that travel between them; nobody else looks into those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from windowing import wids
from windowing.assign.assigner import Assigner
from windowing.assign.sliding import SlidingAssigner
from windowing.emission.emitter import Emitter
from windowing.emission.sliding import SlidingEmitter
from windowing.spec import Pipeline, Query
from windowing.spec.window import Window, WindowClass


@dataclass(frozen=True)
class EngineClass:
    """How the engine evaluates one class of windows.

    Attributes:
        assigner: makes a lane's part of a query.
        emitter: makes a shard's part of a query.
        extent: start and end of the window that one row of a result frame is of.
    """

    assigner: Callable[[Query, Pipeline], Assigner]
    emitter: Callable[[Query, Pipeline], Emitter]
    extent: Callable[[Window, int], tuple[int, int]]


_CLASSES = {
    WindowClass.SLIDING: EngineClass(SlidingAssigner, SlidingEmitter, wids.bounds_of),
}


def class_of(query: Query) -> EngineClass:
    """How a query is evaluated."""
    return _CLASSES[query.window.kind]


def extents(query: Query, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of the window of each row that an emitter made."""
    extent = class_of(query).extent
    return [extent(query.window, wid) for wid in rows["window_id"]]
