"""A trace: what each record of a log finds, and what it does, by the definition.

The order between lanes has no influence on rows; on which record *closes* a window it has, so a
trace is of one order of arrival: that in which the log is given.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from typing import Any

from windowing.semantics import sliding
from windowing.semantics.lanes import Arrival, Lane, Progress, follow
from windowing.semantics.lateness import Verdict, is_late, judge
from windowing.semantics.log import LogEntry, split_lanes
from windowing.semantics.revisions import revisions
from windowing.semantics.units import Item, Shown
from windowing.semantics.values import Record, ValueReader
from windowing.spec.disorder import progress_attr
from windowing.spec.pipeline import Pipeline, Query, Source
from windowing.spec.rows import Scalar
from windowing.spec.rules import slides_over

Line = dict[str, Any]


class TraceError(ValueError):
    """A pipeline with windows that no trace can be made of."""


def trace(pipeline: Pipeline, log: Iterable[LogEntry]) -> Iterator[Line]:
    """Give one line for each record of a log, in the order of the log.

    Args:
        pipeline: what is computed.
        log: the whole log, each lane in offset order.

    Returns:
        JSON objects: `lane`, `offset`; `kind` (record, control, dead, or again for a redelivery);
        `ts`, `reason` or `control`; `progress` of its lane before and `after` it, and of the
        `stream` after it (null: none yet; "ended"); per query, for a record, its `windows`, those
        that it is `late` for, the `slices` that it goes into (first window, last window, epoch or
        null) and its `outcome`; the windows that it `closed`, and the rows that it `revised`.

    Raises:
        BadLogError: not a log of this pipeline.
        TraceError: windows of another class than sliding ones over event time.
    """
    for query in pipeline.queries:
        if not slides_over(query.window, pipeline.source.event_time.field):
            msg = (
                f"query {query.name}: a trace shows sliding and tumbling windows over event time, "
                f"without PATTR; this one is of class {query.window.kind} over "
                f"{query.window.attribute}: leave it out of the file"
            )
            raise TraceError(msg)
    entries = list(log)
    split_lanes(pipeline.source, entries)  # for its errors
    awaited = _Awaited(pipeline, entries)
    reader, lanes = ValueReader(pipeline), _lanes(pipeline.source)
    last = [-1] * len(lanes)
    for entry in entries:
        lane = lanes[entry.partition]
        line: Line = {"lane": lane.name, "offset": entry.offset}
        if entry.offset <= last[entry.partition]:
            yield {**line, "kind": "again"}
            continue
        last[entry.partition] = entry.offset
        before = lane.progress
        arrivals = follow(lane, [entry], reader)
        yield {
            **line,
            **_content(pipeline, entry, arrivals),
            "progress": _spell(arrivals[0].progress if arrivals else before),
            "after": _spell(lane.progress),
            "stream": _spell(min(lane.progress for lane in lanes)),
            **_queries(pipeline, arrivals),
            **awaited.reached(lanes),
        }


def _lanes(source: Source) -> list[Lane]:
    names = (source.lane(partition) for partition in range(source.partitions))
    return [Lane(name, source.disorder) for name in names]


def _content(pipeline: Pipeline, entry: LogEntry, arrivals: Sequence[Arrival]) -> Line:
    if not arrivals:
        control = b"" if entry.control is None else entry.control
        return {"kind": "control", "control": control.decode("utf-8", "replace")}
    content = arrivals[0].content
    if isinstance(content, Record):
        return {"kind": "record", "ts": content.ts_us}
    return {"kind": "dead", "reason": content}


def _queries(pipeline: Pipeline, arrivals: Sequence[Arrival]) -> Line:
    if not arrivals or not isinstance(arrivals[0].content, Record):
        return {}
    item = _item(pipeline.source, arrivals[0])
    return {"queries": {query.name: _found(query, item) for query in pipeline.queries}}


def _item(source: Source, arrival: Arrival) -> Item:
    record = arrival.content
    assert isinstance(record, Record)  # noqa: S101 - callers asked
    place = (source.topic, arrival.partition, arrival.offset)
    return Item(record.ts_us, *place, arrival.progress, record.fields)


def _found(query: Query, item: Item) -> Line:
    """What a record finds in one query: its windows, by verdict."""
    ids = sliding.wids(query.window, item.value)
    ends = {wid: sliding.extent(query.window, wid)[1] for wid in ids}
    earliest = min(ends.values(), default=0)
    verdicts = {wid: judge(query, ends[wid], earliest, item.progress) for wid in ids}
    return {
        "windows": list(ids),
        "late": [w for w in ids if is_late(query, ends[w], earliest, item.progress)],
        "slices": _slices(verdicts),
        "outcome": _outcome(query, list(verdicts.values())),
    }


def _slices(verdicts: dict[int, Verdict]) -> list[list[int | None]]:
    """Runs of windows with one verdict, those that refuse left out."""
    slices: list[list[int | None]] = []
    for verdict, run in groupby(verdicts, key=lambda wid: verdicts[wid]):
        held = list(run)
        if verdict != "refused":
            slices.append([held[0], held[-1], None if verdict == "on_time" else int(verdict)])
    return slices


def _outcome(query: Query, verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "outside"
    if any(verdict != "refused" for verdict in verdicts):
        return "applied"
    refusals = {"drop": "dropped", "dead_letter": "late", "update": "out_of_retention"}
    return refusals[query.late.policy]


def _spell(progress: Progress) -> int | str | None:
    if progress == -math.inf:
        return None
    return "ended" if progress == math.inf else int(progress)


class _Awaited:
    """The rows of a log that progress has not reached yet.

    Args:
        pipeline: what is computed.
        entries: the whole log.
    """

    def __init__(self, pipeline: Pipeline, entries: Sequence[LogEntry]) -> None:
        self._attr = progress_attr(pipeline.source.disorder)
        reader, lanes = ValueReader(pipeline), _lanes(pipeline.source)
        items = []
        for lane, of_lane in zip(lanes, split_lanes(pipeline.source, entries), strict=True):
            arrivals = follow(lane, of_lane, reader)
            items += [_item(pipeline.source, a) for a in arrivals if isinstance(a.content, Record)]
        # Per key that has a progress of its own: (instant, number, query, row).
        self._heaps: dict[Scalar, list[tuple[int, int, str, Shown]]] = {}
        numbers = count()
        for query in pipeline.queries:
            for shown in revisions(query, items, lanes):
                if shown.retracts:
                    continue
                key = None if self._attr is None else shown.holds[0].fields[self._attr]
                instant = shown.end if shown.release is None else shown.release
                row = (instant, next(numbers), query.name, shown)
                heapq.heappush(self._heaps.setdefault(key, []), row)

    def reached(self, lanes: Sequence[Lane]) -> Line:
        """The rows that are due now and were not before."""
        closed: dict[str, set[int]] = {}
        revised: dict[str, list[Line]] = {}
        for key, heap in self._heaps.items():
            fields = {} if self._attr is None else {self._attr: key}
            progress = min(lane.of_record(fields) for lane in lanes)
            while heap and heap[0][0] <= progress:
                _, _, query, shown = heapq.heappop(heap)
                if shown.revision == 0:
                    closed.setdefault(query, set()).add(shown.wid)
                    continue
                row = {"window": shown.wid, "key": list(shown.group), "revision": shown.revision}
                revised.setdefault(query, []).append(row)
        line: Line = {}
        if closed:
            line["closed"] = {query: sorted(ids) for query, ids in closed.items()}
        if revised:
            line["revised"] = revised
        return line
