"""Slackwater's windowing runtime: a window's result is a pure function of the log.

Read it in the order of one record's way: `model` (what a pipeline is), `engine` (`reading`: bytes
to columns; `lane`: order, progress, lateness; `shard`: windows, epochs, revisions), `runtime` and
`spark` (what drives lanes and shards), and beside them `semantics` (the definition that they are
checked against). What users import is here, and nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windowing.engine.reading.pack import RawRows
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
    from windowing.model import (
        Pipeline,
        PipelineError,
        Problem,
        Query,
        Window,
        WindowError,
        load_pipeline,
        parse_pipeline,
    )
    from windowing.model.emission import Early, Late, Retention
    from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart, Periods, StreamFlow
    from windowing.model.progress import Punctuation, Slack
    from windowing.model.record import Bound, Pair, Record, WindowRow
    from windowing.model.windows.rows import RowWindow
    from windowing.model.windows.session import Session
    from windowing.model.windows.sliding import Sliding
    from windowing.runtime.local import run
    from windowing.runtime.standalone import ANY, WindowedAggregator, WindowJoin

# A name's home is the first one under which it is listed.
__all__ = [
    "Pipeline",
    "PipelineError",
    "Problem",
    "Query",
    "Window",
    "WindowError",
    "load_pipeline",
    "parse_pipeline",
]
_HOMES = dict.fromkeys(__all__, "windowing.model")
__all__ += ["Early", "Retention"]
_HOMES = dict.fromkeys(__all__, "windowing.model.emission") | _HOMES
__all__ += ["Deliveries", "JoinFlow", "KeyOrder", "LaneStart", "Periods", "StreamFlow"]
_HOMES = dict.fromkeys(__all__, "windowing.model.flow") | _HOMES
__all__ += ["Late"]
_HOMES = dict.fromkeys(__all__, "windowing.model.emission") | _HOMES
__all__ += ["Punctuation", "Slack"]
_HOMES = dict.fromkeys(__all__, "windowing.model.progress") | _HOMES
__all__ += ["Bound", "Pair", "Record", "WindowRow"]
_HOMES = dict.fromkeys(__all__, "windowing.model.record") | _HOMES
__all__ += ["RowWindow"]
_HOMES = dict.fromkeys(__all__, "windowing.model.windows.rows") | _HOMES
__all__ += ["Session"]
_HOMES = dict.fromkeys(__all__, "windowing.model.windows.session") | _HOMES
__all__ += ["Sliding"]
_HOMES = dict.fromkeys(__all__, "windowing.model.windows.sliding") | _HOMES
__all__ += ["RawRows"]
_HOMES = dict.fromkeys(__all__, "windowing.engine.reading.pack") | _HOMES
__all__ += [
    "Aggregate",
    "Custom",
    "Dedup",
    "Join",
    "JoinKind",
    "Operator",
    "OperatorError",
    "Output",
    "PortOutput",
    "Sort",
    "SortOrder",
    "WindowClause",
    "sliding",
    "tumbling",
]
_HOMES = dict.fromkeys(__all__, "windowing.engine.rows.operators") | _HOMES
__all__ += [
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
]
_HOMES = dict.fromkeys(__all__, "windowing.engine.rows.policies") | _HOMES
__all__ += ["run"]
_HOMES = dict.fromkeys(__all__, "windowing.runtime.local") | _HOMES
__all__ += ["ANY", "WindowJoin", "WindowedAggregator"]
_HOMES = dict.fromkeys(__all__, "windowing.runtime.standalone") | _HOMES


def __getattr__(name: str) -> object:
    """Import public names lazily, so that parsing a pipeline does not load the engine."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
