"""Slackwater's windowing runtime: a window's result is a pure function of the log.

Read it in the order of one record's way: `model` (what a pipeline is), `engine` (`input`: bytes to
columns; `lane`: order, progress, lateness; `shard`: windows, epochs, revisions), `runtime` and
`spark` (what drives lanes and shards), and beside them `semantics` (the definition that they are
checked against). `spec`, `local` and `pack` are what users import, and nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windowing.engine.rows.operators import Aggregate, Join, Sort
    from windowing.engine.rows.policies import (
        IntervalWindow,
        SlidingWindow,
        TumblingWindow,
        count,
        delta,
        partition_age,
        partition_count,
        punct,
        time,
        tuple_count,
    )
    from windowing.model.operator import (
        AggregatorSpec,
        EarlyRecords,
        EarlyTicks,
        JoinSpec,
        LaneSpec,
        LateRecords,
        Retention,
        RowSessions,
        RowWindows,
        SideSpec,
        TimeSessions,
        TimeWindows,
    )
    from windowing.model.record import Bound, Pair, Record, WindowRow
    from windowing.runtime.standalone import ANY, WindowedAggregator, WindowJoin

__all__ = [
    "ANY",
    "Aggregate",
    "AggregatorSpec",
    "Bound",
    "EarlyRecords",
    "EarlyTicks",
    "IntervalWindow",
    "Join",
    "JoinSpec",
    "LaneSpec",
    "LateRecords",
    "Pair",
    "Record",
    "Retention",
    "RowSessions",
    "RowWindows",
    "SideSpec",
    "SlidingWindow",
    "Sort",
    "TimeSessions",
    "TimeWindows",
    "TumblingWindow",
    "WindowJoin",
    "WindowRow",
    "WindowedAggregator",
    "count",
    "delta",
    "partition_age",
    "partition_count",
    "punct",
    "time",
    "tuple_count",
]

_ROOMS = (
    "windowing.model.record",
    "windowing.model.operator",
    "windowing.runtime.standalone",
    "windowing.engine.rows.policies",
    "windowing.engine.rows.operators",
)


def __getattr__(name: str) -> object:
    """Import public names lazily, so that parsing a pipeline does not load the engine."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    modules = map(importlib.import_module, _ROOMS)
    return next(vars(module)[name] for module in modules if name in vars(module))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
