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
    "AggregatorSpec",
    "Bound",
    "EarlyRecords",
    "EarlyTicks",
    "JoinSpec",
    "LaneSpec",
    "LateRecords",
    "Pair",
    "Record",
    "Retention",
    "RowSessions",
    "RowWindows",
    "SideSpec",
    "TimeSessions",
    "TimeWindows",
    "WindowJoin",
    "WindowRow",
    "WindowedAggregator",
]


def __getattr__(name: str) -> object:
    """Import the public names when they are asked for: who reads a pipeline needs none of them."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    rooms = ("windowing.spec.operator_rows", "windowing.spec.operator", "windowing.operators")
    modules = map(importlib.import_module, rooms)
    return next(vars(module)[name] for module in modules if name in vars(module))
