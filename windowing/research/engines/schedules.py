"""How far an engine's clock may have come before each record, under every schedule that it allows.

A watermark says that a window is complete, and who comes later is too late. In most engines its
course depends on more than the log: on where batches were cut, on which partition was read first,
on when a timer ran. So of some records the log alone cannot tell whether they were late. The model
answers with bounds: the furthest that the clock may have been before a record, whatever the
schedule, and whether it was certainly there.

Sources: Spark drops a row if its window ends at or before the watermark of an earlier batch, the
largest event time of all partitions less the delay, in milliseconds; before there is one, it is
1970. Flink drops it if the window's last millisecond plus the allowed lateness is at or before the
smallest watermark of its inputs, which are sent by a timer. Kafka Streams drops it if its window's
end plus the grace is at or before the largest time that its own task has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Time = int | float
"""Microseconds, or minus infinity: nothing was seen."""


class ClockRecord(NamedTuple):
    """A record as the clock sees it; those of a partition are in the order of their offsets."""

    partition: int
    time_us: int


Clock = Callable[[Sequence[ClockRecord], bool], list[Time]]
"""The largest event time that may have counted before each record, by arrivals and `together`."""


@dataclass(frozen=True)
class WatermarkEngine:
    """An engine whose windows are closed by a clock of event time.

    Attributes:
        furthest: how far its clock may have come before each record.
        certain: whether it has come so far under every schedule.
        closing: the time that surely counts in the end.
        sends_open: whether windows that the clock has not reached may be sent.
        updates: whether a window may have several rows, of which the last one counts.
        ahead_us: how far its clock may run ahead of the event time less the delay.
        first_us: where its clock begins.
        unit_us: the precision of its clock.
    """

    name: str
    title: str
    furthest: Clock
    certain: bool
    closing: Callable[[Sequence[ClockRecord]], Time]
    sends_open: bool
    updates: bool
    ahead_us: int = 0
    first_us: Time = -math.inf
    unit_us: int = 1_000

    def clock(self, time: Time, delay_us: int) -> Time:
        """Return the clock when this is the largest time that counts."""
        if math.isinf(time):
            return max(self.first_us, time)
        return max(self.first_us, int(time) // self.unit_us * self.unit_us - delay_us)


def _any(arrivals: Sequence[ClockRecord], together: bool) -> list[Time]:
    """Records of any partition move the clock."""
    if together:
        return _running([arrival.time_us for arrival in arrivals])
    own = _own(arrivals, together)
    whole = _last(arrivals)
    others = {
        partition: max((us for one, us in whole.items() if one != partition), default=-math.inf)
        for partition in whole
    }
    return [
        max(before, others[arrival.partition])
        for before, arrival in zip(own, arrivals, strict=True)
    ]


def _own(arrivals: Sequence[ClockRecord], together: bool) -> list[Time]:
    """Only records of the same partition move the clock."""
    del together
    seen: dict[int, Time] = {}
    found = []
    for arrival in arrivals:
        before = seen.get(arrival.partition, -math.inf)
        found.append(before)
        seen[arrival.partition] = max(before, arrival.time_us)
    return found


def _running(times: Sequence[int]) -> list[Time]:
    """Return the largest time before each."""
    largest: Time = -math.inf
    found = []
    for time in times:
        found.append(largest)
        largest = max(largest, time)
    return found


def _last(arrivals: Sequence[ClockRecord]) -> dict[int, Time]:
    found: dict[int, Time] = {}
    for arrival in arrivals:
        found[arrival.partition] = max(found.get(arrival.partition, -math.inf), arrival.time_us)
    return found


def _largest(arrivals: Sequence[ClockRecord]) -> Time:
    return max(_last(arrivals).values(), default=-math.inf)


def _slowest(arrivals: Sequence[ClockRecord]) -> Time:
    return min(_last(arrivals).values(), default=-math.inf)


def _always(arrivals: Sequence[ClockRecord]) -> Time:
    """Every window is sent: with the first of its records."""
    del arrivals
    return math.inf


ENGINES = {
    engine.name: engine
    for engine in (
        WatermarkEngine(
            "spark-window",
            "Spark Structured Streaming, window() in append mode",
            furthest=_any,
            certain=False,
            closing=_largest,
            sends_open=False,
            updates=False,
            first_us=0,
        ),
        # Another input may be idle, or at its end, and then holds nothing back.
        WatermarkEngine(
            "flink",
            "Flink, event-time windows",
            furthest=_own,
            certain=False,
            closing=_slowest,
            sends_open=True,
            updates=False,
            # A watermark says that no record with its very time follows. DataStream sets it a
            # millisecond below the largest time less the delay, SQL does not.
            ahead_us=1_000,
        ),
        WatermarkEngine(
            "kafka-streams",
            "Kafka Streams, windows with grace",
            furthest=_own,
            certain=True,
            closing=_always,
            sends_open=True,
            updates=True,
        ),
    )
}
"""The engines, by name."""
