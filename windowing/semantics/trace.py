"""Trace: what happens to each record of a log, and what it causes, by the definition.

The order between lanes does not influence rows, but it does decide which record *closes* a window,
so a trace is for one order of arrival: that of the given log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.operators.query import OperatorQuery
from windowing.model.query import Flow
from windowing.model.window_join import WindowJoinQuery
from windowing.semantics.arrivals import ReadRecord, follow
from windowing.semantics.found import Finder
from windowing.semantics.lanes import Progress
from windowing.semantics.log import LogEntry
from windowing.semantics.pending import Line, PendingRows, spelled
from windowing.semantics.pending_pairs import PendingPairs
from windowing.semantics.reports import Reports
from windowing.semantics.reports import spelled as identity
from windowing.semantics.units import WindowRevision
from windowing.semantics.values import Record, ValueReader
from windowing.semantics.view import Views, attribute_of, effective, items_of, lanes_of


class TraceError(ValueError):
    """A pipeline that does not support tracing."""

    exit_code = 2


def trace(pipeline: Pipeline, log: Iterable[LogEntry]) -> Iterator[Line]:
    """Return one line per record of a log, in the order of the log.

    Args:
        log: the whole log, each lane in offset order.

    Returns:
        JSON objects: `lane`, `offset`; `kind` (record, control, dead, or again for a redelivery);
        `ts`, `reason` or `control`; `progress` of its lane before and `after` it, and of the
        `stream` after it (null: none yet; "ended"); for a record, per query: its `windows`, those
        that it is `late` for, its `slices` (first window, last window, epoch or null) and its
        `outcome` (the line's own, if no window sees it; what a duplicate `repeats` is an offset of
        its lane); the windows that it `closed`, and the rows that it `revised`. For queries over
        another attribute also its position `at`, and progress, by that attribute. For a query of
        operators, a record has its `unit`, its `number` in the order of that (null: none yet), the
        `reports` that hold it, and its `outcome`; the line has the rows that it `sent`, each with
        why a handler `failed`, if one did. Queries that follow the machine's clock are left out.

    Raises:
        BadLogError: not a log of this pipeline.
        TraceError: a join without windows.
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """
    if pipeline.join is not None and not pipeline.of(WindowJoinQuery):
        msg = "this join has no windows that a record goes into: there is no trace of it"
        raise TraceError(msg)
    entries = list(log)
    pipeline = effective(pipeline, entries)
    readers = [ValueReader(pipeline, number) for number in range(pipeline.source.partitions)]
    views, last = Views(pipeline, entries), [-1] * pipeline.source.partitions
    ordering = [attribute_of(query, pipeline.source) for query in pipeline.of(Query)]
    courses = [
        _Course(pipeline, views, attribute) for attribute in dict.fromkeys([None, *ordering])
    ]
    for entry in entries:
        number = pipeline.source.number(entry.source, entry.partition)
        assert number is not None  # noqa: S101 - `Views` refuses foreign lanes
        line: Line = {"lane": pipeline.source.lane(number), "offset": entry.offset}
        if entry.offset <= last[number]:
            yield {**line, "kind": "again"}
            continue
        last[number] = entry.offset
        for course in courses:
            course.step(entry, number, readers[number])
        found = {name: met for course in courses for name, met in course.met.items()}
        yield {
            **line,
            **_content(entry, courses[0].arrivals),
            **courses[0].line,
            **({"queries": {q.name: found[q.name] for q in _traced(pipeline)}} if found else {}),
            **spelled([row for course in courses for row in course.due]),
            **courses[0].sent,
        }


def _traced(pipeline: Pipeline) -> list[Flow]:
    """Return the queries that have a trace: those that are functions of the log."""
    return [flow for flow in pipeline.flows if not flow.by_wall_clock]


class _Course:
    """The queries over one attribute, following a log.

    Args:
        views: the whole log.
        attribute: the attribute; None: the event time.

    Attributes:
        arrivals: the last entry's data record, if it was one.
        line: the progress of its lane before and after it, and of the stream.
        met: its window assignment, by query.
        due: the rows that became due with it.
        sent: the rows that operators sent with it, by query.
    """

    def __init__(self, pipeline: Pipeline, views: Views, attribute: str | None) -> None:
        source, view = pipeline.source, views.by(attribute)
        queries = [q for q in pipeline.of(Query) if attribute_of(q, source) == attribute]
        generator = source.generator_of(attribute or source.event_time.field)
        self._attribute, self._lanes = attribute, lanes_of(source, attribute)
        self._pending = PendingRows(queries, generator.progress_attr, view.items, view.lanes)
        self._finders = {query.name: Finder(query, view.items, view.lanes) for query in queries}
        self._reports = {
            query.name: Reports(query, source.event_time.field, view.items, view.lanes)
            for query in _traced(pipeline)
            if isinstance(query, OperatorQuery) and attribute is None
        }
        joins = pipeline.of(WindowJoinQuery)
        self._joins = {join.name: PendingPairs(join, view.items) for join in joins}
        self.arrivals: list[ReadRecord] = []
        self.line: Line = {}
        self.met: Line = {}
        self.due: list[tuple[Query, WindowRevision]] = []
        self.sent: Line = {}

    def step(self, entry: LogEntry, number: int, reader: ValueReader) -> None:
        """Process the next entry of the log, of the lane of this number."""
        lane = self._lanes[number]
        before = lane.progress
        self.arrivals = follow(lane, [entry], reader, self._attribute)
        items = items_of(self.arrivals, self._attribute)
        self.line = {
            "progress": _spell(self.arrivals[0].progress if self.arrivals else before),
            "after": _spell(lane.progress),
            "stream": _spell(min(lane.progress for lane in self._lanes)),
        }
        # The line itself is about event time; queries report other attributes.
        own = {} if self._attribute is None or not items else {"at": items[0].value, **self.line}
        self.met = {
            name: {**own, **finder.of(item)}
            for item in items
            for name, finder in self._finders.items()
        }
        self.met |= {
            name: reports.of(item) for item in items for name, reports in self._reports.items()
        }
        self.met |= {name: own.of(item) for item in items for name, own in self._joins.items()}
        self.due = self._pending.reached(self._lanes, (number, entry.offset))
        place = (entry.source, entry.partition, entry.offset)
        sent = {n: reports.reached(self._lanes, place) for n, reports in self._reports.items()}
        shown = {name: [identity(row) for row in rows] for name, rows in sent.items() if rows}
        shown |= {n: rows for n, own in self._joins.items() if (rows := own.reached(self._lanes))}
        self.sent = {"sent": shown} if shown else {}


def _content(entry: LogEntry, arrivals: Sequence[ReadRecord]) -> Line:
    if not arrivals:
        control = b"" if entry.control is None else entry.control
        return {"kind": "control", "control": control.decode("utf-8", "replace")}
    content = arrivals[0].content
    if isinstance(content, Record):
        known: Line = {"kind": "record", "ts": content.ts_us}
        if content.withheld is not None:
            known["outcome"] = content.withheld
        return known if content.repeats is None else {**known, "repeats": content.repeats}
    return {"kind": "dead", "reason": content}


def _spell(progress: Progress) -> int | str | None:
    if progress == -math.inf:
        return None
    return "ended" if progress == math.inf else int(progress)
