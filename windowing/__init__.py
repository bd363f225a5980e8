"""Slackwater's windowing runtime: a window's result is a pure function of the log.

Read it in the order of one record's way: `spec` (what a pipeline is), `pack` (bytes to columns),
`lane` (order, progress, lateness), `shard` (windows, epochs, revisions), `local` and `spark`
(the two engines that drive lanes and shards), and beside them `semantics` (the definition that
they are checked against).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windowing.operators import ANY, WindowedAggregator, WindowJoin
    from windowing.rows.operators import Aggregate, Join, Sort
    from windowing.rows.policies import (
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
    from windowing.spec.operator import (
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
    from windowing.spec.operator_rows import Bound, Pair, Record, WindowRow

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
    "windowing.spec.operator_rows",
    "windowing.spec.operator",
    "windowing.operators",
    "windowing.rows.policies",
    "windowing.rows.operators",
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
