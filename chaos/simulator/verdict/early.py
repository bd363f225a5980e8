"""Which early rows are legal: each shows an open window as the log delivered so far makes it.

An early row equals the row that its window would have if every lane ended at once. It is sent while
the definition has no row of the window yet, and only if the window has more records than in its
last early row; with `early: {records: n}`, in any case if it has n more, and if only silent lanes
hold its window up, if it has any more. Of sessions with late records, which wait for their epoch
while the session is open, only the numbers are judged.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from chaos.simulator.added_lanes import with_lanes_of
from chaos.simulator.case import SimulatedRecord
from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.due import prefix
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Query
from windowing.model.rows import Key, Row
from windowing.semantics import Outcome
from windowing.semantics.having import holds
from windowing.semantics.lanes import Lane
from windowing.semantics.revisions import revisions, row_of
from windowing.semantics.view import View, Views, effective
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.sessions import SessionDefinition

_Window = tuple[str, int, Key]


@dataclass
class _EarlyRows:
    """The last early row of each window, of which there is any.

    Attributes:
        judged: the queries whose rows have to fulfil a condition; those that were not sent have
            numbers, too.
    """

    rows: dict[_Window, Row] = field(default_factory=dict)
    judged: frozenset[str] = frozenset()

    def take(self, row: Row) -> str | None:
        """Take the next early row; return why it must not have been sent, or None."""
        window = (row.query, row.window_id, row.key)
        before = self.rows.get(window)
        if row.absorbed_by is not None:
            self.rows.pop(window, None)
            return None if before is not None else "takes back what was never shown"
        self.rows[window] = row
        number, records = (0, 0) if before is None else (before.revision, before.records)
        skips = row.query in self.judged and row.revision > number
        if row.tombstone and (before is None or before.tombstone):
            return "withdraws what was never shown"
        if row.revision != number + 1 and not skips:
            return f"is number {row.revision} after {number}"
        return None if row.records > records else f"shows nothing new after {records} records"


def early(
    pipeline: Pipeline,
    lanes: Sequence[Sequence[SimulatedRecord]],
    history: SimulationHistory,
    outcomes: Mapping[int, Outcome],
) -> Iterator[str]:
    """Yield the first early row that is not legal, or is missing."""
    may = pipeline.source.idle_timeout_us is not None
    if not may and not any(flow.early for flow in pipeline.flows):
        return
    judged = frozenset(flow.name for flow in pipeline.flows if flow.having is not None)
    shown, due = _EarlyRows(judged=judged), _records(pipeline)
    for batch in range(len(history.ends)):
        before = dict(shown.rows)
        for row in history.early.get(batch, ()):
            if (why := shown.take(row)) is not None:
                yield f"early row in batch {batch} {why}: {row}"
                return
        if batch not in outcomes:
            continue
        log = prefix(lanes, history.ends[batch])
        # Which windows are open may go by the furthest lane, and one that joins later is none yet.
        later = sum(batch < at < len(history.ends) for at in history.joined.values())
        known = with_lanes_of(pipeline, pipeline, pipeline.source.partitions - later)
        idle_us = pipeline.source.idle_timeout_us
        left_out = frozenset[int]()
        if idle_us is not None:
            left_out = silent(history, batch, known.source.partitions, idle_us)
        waits, open_rows, held_up = _open(known, log, outcomes[batch], left_out)
        for row in history.early.get(batch, ()):
            if row.absorbed_by is not None or (row.query, row.key) in waits:
                continue
            if _plain(row) != open_rows.get(_window(row)):
                right = open_rows.get(_window(row), "no row, since it is not open")
                yield f"early row in batch {batch}: {_plain(row)}, and right is {right}"
                return
        open_rows = {one: row for one, row in open_rows.items() if (one[0], one[2]) not in waits}
        enough = {
            window: 1 if window in held_up else due.get(window[0], math.inf) for window in open_rows
        }
        # Where not all are sent, it is unknown since when records are new, unless each makes a row.
        enough = {
            window: many
            for window, many in enough.items()
            if window[0] not in judged
            or (many == 1 and (not open_rows[window].tombstone or _held(before.get(window))))
        }
        open_rows = {window: row for window, row in open_rows.items() if window in enough}
        if missing := [*_missing(batch, enough, open_rows, before, shown.rows)]:
            yield missing[0]
            return


def _held(before: Row | None) -> bool:
    return before is not None and not before.tombstone


def _records(pipeline: Pipeline) -> dict[str, int]:
    return {
        flow.name: flow.early.records
        for flow in pipeline.flows
        if flow.early is not None and flow.early.records is not None
    }


def _missing(
    batch: int,
    enough: Mapping[_Window, float],
    open_rows: Mapping[_Window, Row],
    before: Mapping[_Window, Row],
    after: Mapping[_Window, Row],
) -> Iterator[str]:
    for window, row in open_rows.items():
        records = before[window].records if window in before else 0
        if row.records - records >= enough[window] and after.get(window) is before.get(window):
            yield f"no early row in batch {batch}, although {records} became {row}"


def _open(
    pipeline: Pipeline,
    log: Sequence[SimulatedRecord],
    outcome: Outcome,
    silent_lanes: AbstractSet[int],
) -> tuple[set[tuple[str, Key]], dict[_Window, Row], set[_Window]]:
    """Return the rows of open windows, as if all lanes ended.

    Returns:
        the queries and keys in which late records may wait, the rows, and the windows that would
        have closed if only silent lanes had ended.
    """
    pipeline = effective(pipeline, log)
    views = Views(pipeline, log)
    closed = {_window(row) for row in outcome.rows}
    waits, found, held_up = set[tuple[str, Key]](), dict[_Window, Row](), set[_Window]()
    for query in pipeline.flows:
        if isinstance(query, Query):
            view, definition = views.of(query), definition_of(query)
            if isinstance(definition, SessionDefinition):
                late = [item for item in view.items if definition.lateness(item) is not None]
                waits |= {(query.name, tuple(one.fields[n] for n in query.key)) for one in late}
            ended = [*map(_ended, view.lanes)]
            for row in _first_rows(query, pipeline, view, ended):
                if _window(row) not in closed:
                    found[_window(row)] = _plain(row)
            if silent_lanes:
                lanes = [ended[n] if n in silent_lanes else one for n, one in enumerate(view.lanes)]
                held_up |= {_window(row) for row in _first_rows(query, pipeline, view, lanes)}
    return waits, found, held_up


def _first_rows(
    query: Query, pipeline: Pipeline, view: View, lanes: Sequence[Lane]
) -> Iterator[Row]:
    for one in revisions(query, view.items, lanes, view.newest):
        row = row_of(query, pipeline.source, one)
        # A window without records has no early row.
        if row.pane == "full" and not row.retracts and row.records:
            stone = not holds(query, query.having_types(pipeline.source.fields), row)
            yield replace(row, tombstone=stone)


def _ended(lane: Lane) -> Lane:
    # What single keys were promised stays: an end is no finite progress of theirs.
    ended = copy.copy(lane)
    ended.progress = math.inf
    return ended


def _window(row: Row) -> _Window:
    return row.query, row.window_id, row.key


def _plain(row: Row) -> Row:
    """Return a row without what distinguishes early rows."""
    return replace(row, pane="full", revision=0)


def silent(history: SimulationHistory, batch: int, lanes: int, timeout_us: int) -> frozenset[int]:
    """Return the lanes that rows of open windows are not to wait for; none, if all may be silent.

    A lane is silent when it says nothing for `timeout_us`; there are `lanes` of them in the batch.
    """
    chunks = [history.heard[one][1] for one in range(batch + 1)]
    starts = [(0,) * lanes, *history.ends]
    news = [
        {lane for lane in range(lanes) if lane < len(end) and end[lane] > _end(start, lane)}
        for start, end in zip(starts, history.ends[: batch + 1], strict=False)
    ]

    def since(lane: int, heard: Sequence[Container[int]]) -> int:
        first = history.joined.get(lane, 0)
        last = max((one for one in range(batch + 1) if lane in heard[one]), default=first)
        return history.heard[max(first, last)][0]

    now_us = history.heard[batch][0]
    surely, perhaps = (
        frozenset(lane for lane in range(lanes) if now_us - since(lane, heard) >= timeout_us)
        for heard in (chunks, news)
    )
    return frozenset() if len(perhaps) == lanes else surely


def _end(ends: tuple[int, ...], lane: int) -> int:
    return ends[lane] if lane < len(ends) else 0
