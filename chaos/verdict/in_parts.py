"""The definition's result for a log of any length: lines, part by part, in bounded memory.

First the log is read once, lane by lane: each valid record gets the progress of its lane before it,
and goes to the parts that need it (`windowing.semantics.parts`). Then the definition evaluates each
part by itself, in as many processes as are allowed. A part with too many records is divided again.

Memory grows with the number of records only where no part can be divided: records that are ranked,
paired or counted without a key, or that have one key.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path as FilePath
from typing import ClassVar, Final

from chaos.readers.output import Line, dead_letter_identity, row_identity
from chaos.verdict.spool import Shelf, Spool
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import AnyFlow
from windowing.model.rows import DeadLetter, Scalar, dead_letter_line, row_line
from windowing.semantics import (
    Division,
    LogEntry,
    LogOrder,
    Stream,
    attribute_of,
    evaluate_part,
)
from windowing.semantics.definition import bad_value
from windowing.semantics.lanes import Progress
from windowing.semantics.parts import DEPTH_MAX, Path
from windowing.semantics.units import Item
from windowing.semantics.view import View

_VALUE_BYTES: Final = 2048
"""Memory of one value in a spool, a record or a line with its identity; estimated, generously."""

_RECORD_BYTES: Final = 8192
"""Memory of one record while its part is evaluated, with its windows and rows."""

_VALUES_MIN: Final = 64


class ProcessLost(RuntimeError):
    """A process that ended before its part was evaluated."""

    exit_code = 1


@dataclass(frozen=True)
class Means:
    """What a verification may use.

    Attributes:
        memory_bytes: memory of all processes together, approximately; beyond it, values lie in
            files.
        jobs: number of processes.
        folder: where temporary files lie; None: the system's place.
    """

    memory_bytes: int = 2 << 30
    jobs: int = 1
    folder: FilePath | None = None

    @property
    def values_max(self) -> int:
        """Number of values that spools may keep in memory."""
        return max(self.memory_bytes // 8 // _VALUE_BYTES, _VALUES_MIN)

    @property
    def records_max(self) -> int:
        """Number of records in a part that is not divided again."""
        return max(self.memory_bytes // 2 // self.jobs // _RECORD_BYTES, _VALUES_MIN)


_Packed = tuple[int, int, int, Progress, tuple[Scalar, ...]]
"""A record: lane, offset, value, progress before it, fields."""


@dataclass
class _Flow:
    """One query and its records by part.

    Attributes:
        query: the query.
        stream: the log along its attribute.
        division: how its records are divided.
        parts: its records, by part.
    """

    query: AnyFlow
    stream: Stream
    division: Division
    parts: dict[Path, Spool[_Packed]]


@dataclass(frozen=True)
class PartLines:
    """The lines of one part.

    Attributes:
        query: the query's name.
        rows, dead: lines with their identities.
        applied, outside, dropped: numbers of records, as in `Counts`.
    """

    query: str
    rows: list[Line]
    dead: list[Line]
    applied: int
    outside: int
    dropped: int


class DividedLog:
    """A log that was read once, and lies in parts.

    Args:
        pipeline: the pipeline.
        shelf: keeps the parts.
        means: what may be used.
        only: name of the only query of interest; None: all.

    Attributes:
        read: number of data records, as the reader saw them, with control records that are refused.
        arrived: the same by the definition.
        bad: the dead letters that concern all queries.
    """

    def __init__(
        self, pipeline: Pipeline, shelf: Shelf, means: Means, only: str | None = None
    ) -> None:
        self._pipeline, self._shelf, self._means = pipeline, shelf, means
        self._fields = [
            tuple(pipeline.source.place(number)[0].fields)
            for number in range(pipeline.source.partitions)
        ]
        self._streams: dict[str | None, Stream] = {None: Stream(pipeline, None)}
        self._flows: list[_Flow] = []
        for query in pipeline.flows:
            if only in (None, query.name):
                attribute = attribute_of(query, pipeline.source)
                if attribute not in self._streams:
                    self._streams[attribute] = Stream(pipeline, attribute)
                self._flows.append(_Flow(query, self._streams[attribute], Division(query), {}))
        self.read = self.arrived = 0
        self.bad: Spool[Line] = Spool(shelf)

    def follow(self, log: Iterable[LogEntry]) -> None:
        """Read the log.

        Args:
            log: the whole log, from an independent reader.

        Raises:
            BadLogError: this is not a log of the pipeline.
        """
        order = LogOrder(self._pipeline.source)
        for entry in log:
            number = order.lane_of(entry)
            if number is None:
                continue
            self.read += entry.control is None
            for stream in self._streams.values():
                self._step(stream, number, entry)

    def _step(self, stream: Stream, number: int, entry: LogEntry) -> None:
        arrivals, items = stream.step(number, entry)
        if stream.attribute is None:
            for arrival in arrivals:
                self.arrived += 1
                self.read += entry.control is not None
                if isinstance(arrival.content, str):
                    self.bad.append(_dead_line(bad_value(arrival, arrival.content)))
        for item in items:
            values = tuple(item.fields[name] for name in self._fields[number])
            packed = (number, item.offset, item.value, item.progress, values)
            for flow in self._flows:
                if flow.stream is stream:
                    for path in flow.division.paths(item, 1):
                        _add(flow.parts, path, packed, self._shelf)

    def lines(self) -> Iterator[PartLines]:
        """Evaluate all parts; yield the lines of each.

        Raises:
            IntSumError: the definition has no result, since a sum of ints exceeds 64 bits.
            ProcessLost: a process was killed.
        """
        parts = list(self._parts())
        in_memory = sum(len(spool) for _, _, spool in parts) < self._means.values_max
        if self._means.jobs == 1 or in_memory:
            for flow, path, spool in parts:
                yield self._evaluated(flow, path, spool)
                spool.drop()
            return
        self._shelf.write()
        _Worker.begin(self, parts)
        yield from _by_processes(self._means.jobs, len(parts))

    def views(self) -> Iterator[tuple[Division, Path, View]]:
        """Yield all parts, as windows see them."""
        for flow, path, spool in self._parts():
            yield flow.division, path, self._view(flow, spool)

    def _parts(self) -> Iterator[tuple[_Flow, Path, Spool[_Packed]]]:
        for flow in self._flows:
            for path, spool in flow.parts.items():
                yield from self._divided(flow, path, spool)

    def _divided(
        self, flow: _Flow, path: Path, spool: Spool[_Packed]
    ) -> Iterator[tuple[_Flow, Path, Spool[_Packed]]]:
        """Yield a part, or the parts of it if it has too many records."""
        if len(spool) <= self._means.records_max or len(path) == DEPTH_MAX:
            yield flow, path, spool
            return
        parts: dict[Path, Spool[_Packed]] = {}
        for packed in spool:
            for below in flow.division.paths(self._item(packed), len(path) + 1):
                if below[:-1] == path:
                    _add(parts, below, packed, self._shelf)
        spool.drop()
        for below, part in parts.items():
            yield from self._divided(flow, below, part)

    def _evaluated(self, flow: _Flow, path: Path, spool: Spool[_Packed]) -> PartLines:
        found = evaluate_part(self._pipeline, flow.query, self._view(flow, spool), path)
        return PartLines(
            query=flow.query.name,
            rows=[(row_identity(row), row_line(row)) for row in found.rows],
            dead=[_dead_line(letter) for letter in found.dead],
            applied=found.applied,
            outside=found.outside,
            dropped=found.dropped,
        )

    def evaluated(self, part: tuple[_Flow, Path, Spool[_Packed]]) -> PartLines:
        """Return the lines of one part."""
        return self._evaluated(*part)

    def _view(self, flow: _Flow, spool: Spool[_Packed]) -> View:
        records = sorted(spool, key=itemgetter(0, 1))
        return flow.stream.view([self._item(packed) for packed in records])

    def _item(self, packed: _Packed) -> Item:
        number, offset, value, progress, values = packed
        part, partition = self._pipeline.source.place(number)
        fields = dict(zip(self._fields[number], values, strict=True))
        return Item(value, part.topic, partition, offset, progress, fields)


class _Worker:
    """What a forked process inherits: the log and its parts."""

    log: ClassVar[DividedLog]
    parts: ClassVar[list[tuple[_Flow, Path, Spool[_Packed]]]]

    @classmethod
    def begin(cls, log: DividedLog, parts: list[tuple[_Flow, Path, Spool[_Packed]]]) -> None:
        """Leave a log to processes that are forked from now on."""
        cls.log, cls.parts = log, parts

    @staticmethod
    def prepare() -> None:
        """Let SIGTERM end this process; a handler of the parent's would act for the parent."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @classmethod
    def evaluated(cls, number: int) -> PartLines:
        """Return the lines of a part."""
        return cls.log.evaluated(cls.parts[number])


def _by_processes(jobs: int, parts: int) -> Iterator[PartLines]:
    """Yield the lines of the worker's parts in order; few of them wait to be taken."""
    waiting = deque[Future[PartLines]]()
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(jobs, context, _Worker.prepare) as pool:
            for number in range(parts):
                waiting.append(pool.submit(_Worker.evaluated, number))
                if len(waiting) > 2 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool as error:
        msg = (
            "a process that evaluated a part was killed, as happens when memory runs out: give "
            "less --memory or fewer --jobs"
        )
        raise ProcessLost(msg) from error


def _add(parts: dict[Path, Spool[_Packed]], path: Path, packed: _Packed, shelf: Shelf) -> None:
    if path not in parts:
        parts[path] = Spool(shelf)
    parts[path].append(packed)


def _dead_line(letter: DeadLetter) -> Line:
    return dead_letter_identity(letter), dead_letter_line(letter)
