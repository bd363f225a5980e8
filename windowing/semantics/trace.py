"""A trace: what each record of a log finds, and what it does, by the definition.

The order between lanes has no influence on rows; on which record *closes* a window it has, so a
trace is of one order of arrival: that in which the log is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from windowing.semantics.awaited import Awaited, Line
from windowing.semantics.found import Finder
from windowing.semantics.lanes import Arrival, Lane, Progress, follow
from windowing.semantics.log import LogEntry, split_lanes
from windowing.semantics.units import Item
from windowing.semantics.values import Record, ValueReader
from windowing.spec.pipeline import Pipeline, Source
from windowing.spec.window import WindowClass


class TraceError(ValueError):
    """A pipeline with queries that no trace can be made of."""


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
        TraceError: a session or a join.
        ArrivalOrderError: rows are counted as they arrive, and a unit arrives in two lanes.
    """
    for query in pipeline.queries:
        if query.window.kind in (WindowClass.SESSION, WindowClass.JOIN):
            msg = (
                f"query {query.name}: a trace shows windows whose ids are known; the windows of a "
                f"{query.window.kind} merge or pair records as these come: leave it out of the file"
            )
            raise TraceError(msg)
    entries = list(log)
    split_lanes(pipeline.source, entries)  # for its errors
    items, ended = followed(pipeline, entries)
    awaited = Awaited(pipeline, items, ended)
    finders = {query.name: Finder(query, items, ended) for query in pipeline.queries}
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
            **_queries(pipeline, finders, arrivals),
            **awaited.reached(lanes, (entry.partition, entry.offset)),
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


def followed(pipeline: Pipeline, entries: Sequence[LogEntry]) -> tuple[list[Item], list[Lane]]:
    """The good records of a log, and its lanes as they stand at the end."""
    reader, lanes = ValueReader(pipeline), _lanes(pipeline.source)
    items = []
    for lane, of_lane in zip(lanes, split_lanes(pipeline.source, entries), strict=True):
        arrivals = follow(lane, of_lane, reader)
        items += [_item(pipeline.source, a) for a in arrivals if isinstance(a.content, Record)]
    return items, lanes


def _queries(
    pipeline: Pipeline, finders: Mapping[str, Finder], arrivals: Sequence[Arrival]
) -> Line:
    if not arrivals or not isinstance(arrivals[0].content, Record):
        return {}
    item = _item(pipeline.source, arrivals[0])
    return {"queries": {query: finder.of(item) for query, finder in finders.items()}}


def _item(source: Source, arrival: Arrival) -> Item:
    record = arrival.content
    assert isinstance(record, Record)  # noqa: S101 - callers asked
    place = (source.topic, arrival.partition, arrival.offset)
    return Item(record.ts_us, *place, arrival.progress, record.fields)


def _spell(progress: Progress) -> int | str | None:
    if progress == -math.inf:
        return None
    return "ended" if progress == math.inf else int(progress)
