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
    from windowing.engine.rows.operators import (
        Aggregate,
        Custom,
        Dedup,
        Join,
        JoinKind,
        Operator,
        OperatorError,
        Output,
        PortOutput,
        Sort,
        SortOrder,
        WindowClause,
        sliding,
        tumbling,
    )
    from windowing.engine.rows.policies import (
        Driver,
        Event,
        IntervalWindow,
        ManualClock,
        Marker,
        PolicyError,
        Profile,
        Selection,
        SlidingWindow,
        Storage,
        TumblingWindow,
        WallClock,
        WindowEvent,
        count,
        delta,
        partition_age,
        partition_count,
        punct,
        time,
        tuple_count,
    )
    from windowing.model.emission import Early, Retention
    from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart, Periods, StreamFlow
    from windowing.model.late import Late
    from windowing.model.progress import Punctuation, Slack
    from windowing.model.record import Bound, Pair, Record, WindowRow
    from windowing.model.windows.rows import RowWindow
    from windowing.model.windows.session import Session
    from windowing.model.windows.sliding import Sliding
    from windowing.runtime.standalone import ANY, WindowedAggregator, WindowJoin

__all__ = [
    "ANY",
    "Aggregate",
    "Bound",
    "Custom",
    "Dedup",
    "Deliveries",
    "Driver",
    "Early",
    "Event",
    "IntervalWindow",
    "Join",
    "JoinFlow",
    "JoinKind",
    "KeyOrder",
    "LaneStart",
    "Late",
    "ManualClock",
    "Marker",
    "Operator",
    "OperatorError",
    "Output",
    "Pair",
    "Periods",
    "PolicyError",
    "PortOutput",
    "Profile",
    "Punctuation",
    "Record",
    "Retention",
    "RowWindow",
    "Selection",
    "Session",
    "Slack",
    "Sliding",
    "SlidingWindow",
    "Sort",
    "SortOrder",
    "Storage",
    "StreamFlow",
    "TumblingWindow",
    "WallClock",
    "WindowClause",
    "WindowEvent",
    "WindowJoin",
    "WindowRow",
    "WindowedAggregator",
    "count",
    "delta",
    "partition_age",
    "partition_count",
    "punct",
    "sliding",
    "time",
    "tumbling",
    "tuple_count",
]

_HOMES = {
    "windowing.model.record": (
        "Bound",
        "Pair",
        "Record",
        "WindowRow",
    ),
    "windowing.model.flow": (
        "Deliveries",
        "JoinFlow",
        "KeyOrder",
        "LaneStart",
        "Periods",
        "StreamFlow",
    ),
    "windowing.model.emission": (
        "Early",
        "Retention",
    ),
    "windowing.model.late": ("Late",),
    "windowing.model.progress": (
        "Punctuation",
        "Slack",
    ),
    "windowing.model.windows.rows": ("RowWindow",),
    "windowing.model.windows.session": ("Session",),
    "windowing.model.windows.sliding": ("Sliding",),
    "windowing.runtime.standalone": (
        "ANY",
        "WindowJoin",
        "WindowedAggregator",
    ),
    "windowing.engine.rows.policies": (
        "Driver",
        "Event",
        "IntervalWindow",
        "ManualClock",
        "Marker",
        "PolicyError",
        "Profile",
        "Selection",
        "SlidingWindow",
        "Storage",
        "TumblingWindow",
        "WallClock",
        "WindowEvent",
        "count",
        "delta",
        "partition_age",
        "partition_count",
        "punct",
        "time",
        "tuple_count",
    ),
    "windowing.engine.rows.operators": (
        "Aggregate",
        "Custom",
        "Dedup",
        "Join",
        "JoinKind",
        "Operator",
        "OperatorError",
        "SortOrder",
        "Output",
        "PortOutput",
        "Sort",
        "WindowClause",
        "sliding",
        "tumbling",
    ),
}


def __getattr__(name: str) -> object:
    """Import public names lazily, so that parsing a pipeline does not load the engine."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home = next(module for module, names in _HOMES.items() if name in names)
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
