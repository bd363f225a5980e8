"""Policy windows: eviction, trigger and partition eviction.

Source: Gedik, *Generic windowing support for extensible stream processing systems* (SPE 2014). An
operator registers handlers for window events and depends on no policy; policies depend on no
operator and on no storage.
"""

from windowing.engine.rows.policies.clock import Clock, Driver, ManualClock, WallClock
from windowing.engine.rows.policies.events import Event, Pane, WindowEvent
from windowing.engine.rows.policies.interval import IntervalWindow
from windowing.engine.rows.policies.partitions import Storage
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.engine.rows.policies.tumbling import Summarizer, TumblingWindow
from windowing.engine.rows.policies.window import PolicyWindow
from windowing.model.windows.policy import (
    Count,
    Delta,
    Marker,
    PartitionAge,
    PartitionCount,
    PolicyError,
    Profile,
    Punct,
    Selection,
    Time,
    TupleCount,
    count,
    delta,
    partition_age,
    partition_count,
    punct,
    time,
    tuple_count,
)

__all__ = [
    "Clock",
    "Count",
    "Delta",
    "Driver",
    "Event",
    "IntervalWindow",
    "ManualClock",
    "Marker",
    "Pane",
    "PartitionAge",
    "PartitionCount",
    "PolicyError",
    "PolicyWindow",
    "Profile",
    "Punct",
    "Selection",
    "SlidingWindow",
    "Storage",
    "Summarizer",
    "Time",
    "TumblingWindow",
    "TupleCount",
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
