"""Sessions of an operator, by definition: the courses of all keys, in one order of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from windowing.model.operator import AggregatorSpec, RowSessions, TimeSessions
from windowing.model.record import Bound, Record, WindowRow, null_first
from windowing.semantics.operators.log import Met, on_axis, release
from windowing.semantics.operators.rows import shows
from windowing.semantics.session_course import Entry, Sent, course


def rows_of(
    spec: AggregatorSpec, log: Iterable[Record | Bound]
) -> tuple[list[WindowRow], list[Record]]:
    """All full and late rows and tombstones in their order, and the records that are refused."""
    assert isinstance(spec.windows, TimeSessions | RowSessions)  # noqa: S101 - windows differ
    read = on_axis(spec, log)
    entries: dict[str | None, list[Entry[Met]]] = defaultdict(list)
    refused = []
    for met in read.met:
        key = met.record.key if spec.group else None
        joins = None
        if met.at < met.before:
            reach = met.at + spec.windows.gap_of(key)
            kept = spec.retention.time is None or met.before < reach + spec.retention.time
            if spec.late.policy != "update" or not kept:
                refused.append(met.record)
                continue
            joins = release(met.before, spec.late.every)
        entries[key].append(Entry(met.at, met.place, joins, met))
    sent = [
        (key, row) for key, own in entries.items() for row in course(own, spec.windows.gap_of(key))
    ]
    reached = [(key, row) for key, row in sent if row.instant <= read.progress]
    reached.sort(key=lambda one: (one[1].order, null_first(one[0])))
    return [row for key, one in reached for row in _rows(spec, key, one)], refused


def _rows(spec: AggregatorSpec, key: str | None, sent: Sent[Met]) -> list[WindowRow]:
    """One row of a session, and the row before it where that is taken back."""
    before, previous = sent.before, None
    if before is not None:
        previous = _row(spec, key, before)
    if sent.step != "absorbed":
        return [*_taken_back(spec, previous), _row(spec, key, sent)]
    stone = WindowRow(
        sent.start, sent.end, key, "late", sent.revision, 0, None, {}, absorbed_by=sent.absorbed_by
    )
    return [*_taken_back(spec, previous), stone]


def _row(spec: AggregatorSpec, key: str | None, sent: Sent[Met]) -> WindowRow:
    return shows(
        spec,
        (sent.start, sent.end, key),
        pane="late" if sent.revision else "full",
        revision=sent.revision,
        content=sent.holds,
        known=() if sent.before is None else sent.before.holds,
        previous=None,
    )[-1]


def _taken_back(spec: AggregatorSpec, previous: WindowRow | None) -> list[WindowRow]:
    if spec.accumulation != "retracting" or previous is None:
        return []
    return [replace(previous, retracts=True)]
