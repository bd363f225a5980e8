"""The log of a standalone operator, read whole: what each record met, and how far lanes got."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from windowing.model.operator import AggregatorSpec, JoinSpec, RowSessions, RowWindows
from windowing.model.record import Bound, Place, Progress, Record, place_of


@dataclass(frozen=True)
class Met:
    """A data record and what it met.

    Attributes:
        record: the record.
        at: its value on the axis.
        place: its place among the records.
        before: how far its lane was before it.
    """

    record: Record
    at: int
    place: Place
    before: Progress


@dataclass(frozen=True)
class Read:
    """A log, read.

    Attributes:
        met: its data records.
        progress: of the axis at the end of the log.
        refused: records that have no place on the axis because they came too late for it.
    """

    met: Sequence[Met]
    progress: Progress
    refused: Sequence[Met] = ()


def follow(spec: AggregatorSpec | JoinSpec, log: Iterable[Record | Bound]) -> Read:
    """Follow every lane by event time; how lanes interleave in `log` says nothing."""
    progress: dict[str, Progress] = {lane.name: -math.inf for lane in spec.lanes}
    met = []
    for entry in log:
        before = progress[entry.lane]
        if isinstance(entry, Bound):
            progress[entry.lane] = max(before, entry.bound)
            continue
        met.append(Met(entry, entry.ts, place_of(entry.ts, entry.lane, entry.offset), before))
        if spec.slack is not None:
            progress[entry.lane] = max(before, entry.ts - spec.slack)
    return Read(met, min(progress.values()))


def on_axis(spec: AggregatorSpec, log: Iterable[Record | Bound]) -> Read:
    """The log on the axis of an aggregator's windows: event time, or the numbers of rows."""
    read, windows = follow(spec, log), spec.windows
    if not isinstance(windows, RowWindows | RowSessions):
        return read
    if isinstance(windows, RowWindows) and windows.order == "event_time":
        good = [met for met in read.met if met.record.ts >= met.before]
        passed = sorted((m for m in good if m.record.ts < read.progress), key=lambda m: m.place)
        refused = [met for met in read.met if met.record.ts < met.before]
        ranked = [replace(m, at=rank, before=-math.inf) for rank, m in enumerate(passed)]
        return Read(ranked, len(ranked), refused)
    rows = [
        Met(m.record, n, place_of(n, m.record.lane, m.record.offset), -math.inf)
        for n, m in enumerate(read.met)
    ]
    behind = isinstance(windows, RowWindows) and windows.full == "past_end"
    return Read(rows, len(rows) - behind)


def release(before: Progress, every: int) -> int:
    """The first multiple of `every` after a lane's progress."""
    return (math.floor(before) // every + 1) * every
