"""The definition's result for a log of any length: lines, part by part, in bounded memory.

First the log is read once, lane by lane: each valid record gets the progress of its lane before it,
and goes to the parts that need it (`windowing.semantics.parts`). Then the definition evaluates each
part by itself, in as many processes as are allowed. A part with too many records is divided again.

Memory grows with the number of records only where no part can be divided: records that are ranked,
paired or counted without a key, or that have one key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path as FilePath
from typing import Final

from chaos.processes import by_processes
from chaos.readers.output import Line
from chaos.verdict.part_lines import (
    Evaluation,
    PartLines,
    dead_line,
    evaluated,
    lines_of,
    task_of,
)
from chaos.verdict.point import Digest, LastEntry, Packed, Point, PointError
from chaos.verdict.spool import Shelf, Spool
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import Key
from windowing.semantics import (
    Division,
    LogEntry,
    LogOrder,
    Stream,
    attribute_of,
)
from windowing.semantics.definition import bad_value
from windowing.semantics.parts import DEPTH_MAX, Path
from windowing.semantics.view import View

_VALUE_BYTES: Final = 2048
"""Memory of one value in a spool, a record or a line with its identity; estimated, generously."""

_RECORD_BYTES: Final = 8192
"""Memory of one record while its part is evaluated, with its windows and rows."""

_VALUES_MIN: Final = 64


Cluster = Callable[[Callable[[str, str], str], str, Iterator[str]], Iterator[str]]
"""Calls a function, which other machines can import, for each of many texts: its first argument is
the same text in all calls, and its answers come in the order of the texts."""


@dataclass(frozen=True)
class Means:
    """What a verification may use.

    Attributes:
        memory_bytes: memory of all processes together, approximately; beyond it, values lie in
            files.
        folder: where temporary files lie; None: the system's place.
        cluster: evaluates parts; None: this machine's processes do.
    """

    memory_bytes: int = 2 << 30
    jobs: int = 1
    folder: FilePath | None = None
    cluster: Cluster | None = None

    @property
    def values_max(self) -> int:
        """Number of values that spools may keep in memory."""
        return max(self.memory_bytes // 8 // _VALUE_BYTES, _VALUES_MIN)

    @property
    def records_max(self) -> int:
        """Number of records in a part that is not divided again."""
        return max(self.memory_bytes // 2 // self.jobs // _RECORD_BYTES, _VALUES_MIN)


@dataclass
class _Flow:
    """One query and its records by part.

    Attributes:
        stream: the log along its attribute.
    """

    query: Flow
    stream: Stream
    division: Division
    parts: dict[Path, Spool[Packed]]


class DividedLog:
    """A log, or a range of it, that was read once and lies in parts.

    Args:
        only: name of the only query of interest; None: all.
        since: the point at which the range begins; None: with the log.
        judges: whether rows are wanted.
        keeps: whether to find out which records may be in later rows.

    Attributes:
        read: number of data records, as the reader saw them, with control records that are refused.
        arrived: the same by the definition.
        withheld: by name, how many records count for something in all queries: those that no
            window is to see, and those that break rules which only warn.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        shelf: Shelf,
        means: Means,
        only: str | None = None,
        *,
        since: Point | None = None,
        judges: bool = True,
        keeps: bool = False,
    ) -> None:
        self._pipeline, self._shelf, self._means, self._since = pipeline, shelf, means, since
        self._ends: dict[int, LogEntry] = {}
        self._fields = [
            tuple(pipeline.source.place(number)[0].fields)
            for number in range(pipeline.source.partitions)
        ]
        attributes = {None, *(attribute_of(query, pipeline.source) for query in pipeline.flows)}
        self._streams = {attribute: self._stream(attribute) for attribute in attributes}
        before = {attribute: self._stream(attribute) for attribute in attributes}
        self._flows: dict[str, _Flow] = {}
        for query in pipeline.flows:
            if only in (None, query.name):
                along = attribute_of(query, pipeline.source)
                self._flows[query.name] = _Flow(query, self._streams[along], Division(query), {})
        starts = [0] * pipeline.source.partitions
        for number, last in ({} if since is None else since.lasts_by_lane()).items():
            starts[number] = last.offset + 1
        self._evaluation = Evaluation(pipeline, self._streams, before, starts, judges, keeps)
        self.read = self.arrived = 0
        self.bad: Spool[Line] = Spool(shelf)
        self.fates, self.withheld = pipeline.source.fates, Counter[str]()
        if since is not None:
            self.read, self.arrived = since.read, since.arrived
            for name, packed in since.kept():
                if name in self._flows:
                    self._add(self._flows[name], packed)

    def follow(self, log: Iterable[LogEntry]) -> None:
        """Read the log.

        Args:
            log: the whole log, from an independent reader; of a range at least from the last
                entries before it on.

        Raises:
            BadLogError: this is not a log of the pipeline.
            PointError: the log before the range is no longer what it was.
        """
        order = LogOrder(self._pipeline.source)
        awaited = {} if self._since is None else self._since.lasts_by_lane()
        for entry in log:
            number = order.lane_of(entry)
            if number is None:
                continue
            if self._since is not None and self._since.is_before(number, entry.offset):
                if awaited.get(number) == LastEntry.of(entry):
                    del awaited[number]
                continue
            if number in awaited:
                break
            self._ends[number] = entry
            self.read += entry.control is None
            for stream in self._streams.values():
                self._step(stream, number, entry)
        for number, last in awaited.items():
            raise PointError(last.missing(self._pipeline.source.lane(number)))

    def _stream(self, attribute: str | None) -> Stream:
        stream = Stream(self._pipeline, attribute)
        if self._since is not None:
            stream.go_on(dict(self._since.streams)[attribute])
        return stream

    def _step(self, stream: Stream, number: int, entry: LogEntry) -> None:
        arrivals, items = stream.step(number, entry)
        if stream.attribute is None:
            for arrival in arrivals:
                self.arrived += 1
                self.read += entry.control is not None
                self.withheld.update(arrival.counts)
                if isinstance(arrival.content, str):
                    self.bad.append(dead_line(bad_value(arrival, arrival.content)))
        for item in items:
            held = (item.fields[name] for name in self._fields[number])
            # Files of them are JSON.
            values = tuple(f"{one:f}" if isinstance(one, Decimal) else one for one in held)
            packed = (number, item.offset, item.value, item.progress, values)
            for flow in self._flows.values():
                if flow.stream is stream:
                    for path in flow.division.paths(item, 1):
                        _add(flow.parts, path, packed, self._shelf)

    def _add(self, flow: _Flow, packed: Packed) -> None:
        """Add a record from before the range."""
        for path in flow.division.paths(self._evaluation.item(packed), 1):
            _add(flow.parts, path, packed, self._shelf)

    def is_done(self, query: str, key: Key, wid: int, end: int) -> bool:
        """Return whether all rows of a window of one key were sent before the range."""
        flow = self._flows[query]
        before = self._evaluation.before[flow.stream.attribute]
        return flow.division.is_done(key, wid, end, before.lanes)

    def point(
        self, tallies: Mapping[str, Mapping[str, int]], rows: Digest | None, dead: Digest | None
    ) -> Point:
        """Return the point at the end of the log, without records.

        Raises:
            HiddenStateError: a plug-in's generator may keep anything.
        """
        streams = [(attribute, one.state()) for attribute, one in self._streams.items()]
        lasts = {} if self._since is None else self._since.lasts_by_lane()
        lasts |= {number: LastEntry.of(entry) for number, entry in self._ends.items()}
        return Point(
            fingerprint=self._pipeline.fingerprint,
            lasts=[lasts.get(number) for number in range(self._pipeline.source.partitions)],
            streams=streams,
            read=self.read,
            arrived=self.arrived,
            tallies=tallies,
            rows=rows,
            dead=dead,
        )

    def lines(self) -> Iterator[PartLines]:
        """Evaluate all parts; yield the lines of each.

        Raises:
            HiddenStateError: a cluster evaluates, and a plug-in's generator may keep anything.
            PartError: the same, and a cluster evaluates.
            ProcessLost: a process was killed.
        """
        parts = list(self._parts())
        if self._means.cluster is not None:
            tasks = (task_of(flow.query.name, path, spool) for flow, path, spool in parts)
            answers = self._means.cluster(evaluated, self._evaluation.as_json(), tasks)
            yield from map(lines_of, answers)
            return
        in_memory = sum(len(spool) for _, _, spool in parts) < self._means.values_max
        if self._means.jobs == 1 or in_memory:
            for flow, path, spool in parts:
                yield self._evaluation.lines(flow.query, path, spool)
                spool.drop()
            return
        self._shelf.write()
        yield from by_processes(self._means.jobs, len(parts), partial(self._nth, parts))

    def _nth(self, parts: list[tuple[_Flow, Path, Spool[Packed]]], number: int) -> PartLines:
        flow, path, spool = parts[number]
        return self._evaluation.lines(flow.query, path, spool)

    def views(self) -> Iterator[tuple[Division, Path, View]]:
        """Yield all parts, as windows see them."""
        for flow, path, spool in self._parts():
            yield flow.division, path, self._evaluation.view(flow.query, spool)

    def _parts(self) -> Iterator[tuple[_Flow, Path, Spool[Packed]]]:
        for flow in self._flows.values():
            for path, spool in flow.parts.items():
                yield from self._divided(flow, path, spool)

    def _divided(
        self, flow: _Flow, path: Path, spool: Spool[Packed]
    ) -> Iterator[tuple[_Flow, Path, Spool[Packed]]]:
        """Yield a part, or the parts of it if it has too many records."""
        if len(spool) <= self._means.records_max or len(path) == DEPTH_MAX:
            yield flow, path, spool
            return
        parts: dict[Path, Spool[Packed]] = {}
        for packed in spool:
            for below in flow.division.paths(self._evaluation.item(packed), len(path) + 1):
                if below[:-1] == path:
                    _add(parts, below, packed, self._shelf)
        spool.drop()
        for below, part in parts.items():
            yield from self._divided(flow, below, part)


def _add(parts: dict[Path, Spool[Packed]], path: Path, packed: Packed, shelf: Shelf) -> None:
    if path not in parts:
        parts[path] = Spool(shelf)
    parts[path].append(packed)
