"""What a log leaves to an engine's schedule: for each window, who is in it, and who may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, product

from chaos.audit.job import Job
from chaos.readers.log import LogRecord
from windowing.model import Pipeline, Query
from windowing.model.rows import Key, Value
from windowing.research.engines.schedules import ClockRecord
from windowing.semantics.revisions import values_of as shown_values
from windowing.semantics.units import Item, WindowRevision
from windowing.semantics.values import Record, ValueReader

_SCHEDULES_MAX = 4_096
"""Of a window with more ways to end up, only the number of records is judged."""


@dataclass(frozen=True)
class Place:
    """Which window, of which key.

    Attributes:
        start_us, end_us: its extent, half-open.
        key: the values of the key's fields, in their order.
    """

    start_us: int
    end_us: int
    key: Key


@dataclass
class Content:
    """The records of a window.

    Attributes:
        surely: those that it holds under every schedule.
        perhaps: by partition, those that some schedule makes late, in the order of their offsets.
    """

    surely: list[Item] = field(default_factory=list)
    perhaps: dict[int, list[Item]] = field(default_factory=dict)

    @property
    def all(self) -> list[Item]:
        """All records that some schedule lets in."""
        return [*self.surely, *chain.from_iterable(self.perhaps.values())]

    @property
    def undecided(self) -> int:
        """How many records the schedule decides on."""
        return sum(map(len, self.perhaps.values()))

    @property
    def is_determined(self) -> bool:
        """Whether the log alone says what the window holds."""
        return not self.perhaps

    def possible(self) -> Iterator[list[Item]] | None:
        """Yield what it may hold, the most first; None: in too many ways.

        Once the clock has passed a window it stays there: so of the undecided records of a
        partition, the first ones are in, and the others are not.
        """
        if math.prod(len(items) + 1 for items in self.perhaps.values()) > _SCHEDULES_MAX:
            return None
        cuts = [range(len(items), -1, -1) for items in self.perhaps.values()]
        return (
            [*self.surely, *(i for items, n in zip(own, cut, strict=True) for i in items[:n])]
            for own in [list(self.perhaps.values())]
            for cut in product(*cuts)
        )


@dataclass(frozen=True)
class ExpectedWindows:
    """What an engine may write of a log.

    Attributes:
        windows: by place; a record that is surely too late is in none.
        due_us: windows that end up to here have rows, if they hold anything.
        unread: how many values are not records by the file's rules; nobody's windows have them.
    """

    windows: dict[Place, Content]
    due_us: float
    records: int
    unread: int


def expected(
    job: Job,
    log: Iterable[LogRecord],
    *,
    together: bool,
) -> ExpectedWindows:
    """Find out what an engine may write of a log.

    Args:
        log: each partition in the order of its offsets; all of it in the order of its arrival, if
            that is known.
        together: whether the engine reads all partitions at the same pace, as one that keeps up
            does. Otherwise it may read one of them whole before it begins with another.
    """
    items, unread = _items(job.pipeline, log)
    arrivals = [ClockRecord(item.partition, item.value) for item in items]
    engine, windows = job.engine, dict[Place, Content]()
    for item, furthest in zip(items, engine.furthest(arrivals, together), strict=True):
        clock = engine.clock(furthest, job.delay_us)
        for start_us, end_us in _extents(job.query, item.value):
            late = end_us + job.lateness_us <= clock + engine.ahead_us
            if late and engine.certain:
                continue
            key = tuple(item.fields[name] for name in job.query.key)
            content = windows.setdefault(Place(start_us, end_us, key), Content())
            if late:
                content.perhaps.setdefault(item.partition, []).append(item)
            else:
                content.surely.append(item)
    due_us = engine.clock(engine.closing(arrivals), job.delay_us)
    return ExpectedWindows(windows, due_us, len(items) + unread, unread)


def values_of(job: Job, items: Sequence[Item]) -> dict[str, Value]:
    """Return the aggregates of some records, by the definition."""
    in_order = sorted(items, key=lambda item: (item.value, item.partition, item.offset))
    shown = WindowRevision(0, 0, 0, None, (), 0, None, tuple(in_order))
    return shown_values(job.query.aggregates, job.pipeline.source.fields, shown)[0]


def _items(pipeline: Pipeline, log: Iterable[LogRecord]) -> tuple[list[Item], int]:
    reader, items, unread = ValueReader(pipeline), list[Item](), 0
    for record in log:
        if record.control is not None:
            continue
        content = reader.read_entry(record)
        if not isinstance(content, Record):
            unread += 1
            continue
        place = (record.source, record.partition, record.offset)
        items.append(Item(content.ts_us, *place, -math.inf, content.fields))
    return items, unread


def _extents(query: Query, time_us: int) -> Iterator[tuple[int, int]]:
    """Yield the windows that hold a time, the last one first."""
    window, range_us = query.window, query.window.range_
    assert range_us is not None  # noqa: S101 - sliding windows have one, as checked
    first_us = window.origin if window.align == "start" else window.origin - range_us
    start_us = time_us - (time_us - first_us) % window.slide
    while time_us < start_us + range_us:
        yield start_us, start_us + range_us
        start_us -= window.slide
