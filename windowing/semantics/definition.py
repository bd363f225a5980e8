"""The definition: the rows of a pipeline as a function of its log.

The log is followed lane by lane (`view`), which says of each record how far its lane was before
it, and of each lane how far it got. With that, each query has its rows (`revisions`). Nothing else
is said, and so nothing else can have an influence: neither the order between lanes nor batches nor
clocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windowing.model.fields import Aggregate, Kind
from windowing.model.file.pipeline import Pipeline, Query, Source
from windowing.model.query import Flow, JoinQuery
from windowing.model.rows import DeadLetter, Key, Row, Value, dead_letter_order, row_order
from windowing.semantics.aggregates import IntSumError, aggregate, by_user, extreme
from windowing.semantics.lanes import Arrival
from windowing.semantics.log import LogEntry
from windowing.semantics.revisions import key_of, revisions
from windowing.semantics.units import Item, Shown
from windowing.semantics.view import Views
from windowing.semantics.windows import joins
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import FlowDefinition


@dataclass(frozen=True)
class Counts:
    """What became of a query's records; `read = applied + outside + dropped + dead`.

    Attributes:
        read: data records of the log, bad values included, control records not.
        applied: taken by at least one window, closed or not.
        outside: in no window: before the origin, or in a gap.
        dropped: late, under the policy `drop`.
        dead: dead letters: bad values, after the end, late, or out of retention.
    """

    read: int
    applied: int
    outside: int
    dropped: int
    dead: int


@dataclass(frozen=True)
class Outcome:
    """All that a log means to a pipeline.

    Attributes:
        rows: every revision of every window, in the order of an output file.
        dead: every dead letter, in the order of an output file.
        counts: by query, in the order of the file.
        progress: each lane's final progress in microseconds; None: it never had any; `math.inf`:
            it has ended.
    """

    rows: list[Row]
    dead: list[DeadLetter]
    counts: dict[str, Counts]
    progress: dict[str, int | float | None]


@dataclass(frozen=True)
class RowId:
    """Which row: query, window, key and revision."""

    query: str
    window_id: int
    key: Key
    revision: int


Place = tuple[int, int]
"""Partition and offset of a record."""


def evaluate(pipeline: Pipeline, log: Iterable[LogEntry]) -> Outcome:
    """Return the rows, dead letters and counts that this log has under this pipeline.

    Args:
        pipeline: what is computed.
        log: the whole log; lanes may interleave in any way, each in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
        IntSumError: a sum of ints in some row leaves 64 bits.
    """
    source, views = pipeline.source, Views(pipeline, log)
    arrivals, lanes = views.by(None).arrivals, views.by(None).lanes
    bad = [_dead(a, None, a.content) for a in arrivals if isinstance(a.content, str)]
    dead = list(bad)
    rows: list[Row] = []
    counts: dict[str, Counts] = {}
    for query in pipeline.flows:
        view = views.of(query)
        definition: FlowDefinition
        if isinstance(query, JoinQuery):
            definition = joins.JoinDefinition(query)
            rows += joins.rows(query, view.items, view.lanes)
        else:
            definition = definition_of(query)
            shown = revisions(query, view.items, view.lanes)
            rows += (_row(query, source, revision) for revision in shown)
        refused, tally = _refused(query, definition, view.items)
        dead += refused
        counts[query.name] = Counts(len(arrivals), **tally, dead=len(bad) + len(refused))
    return Outcome(
        rows=sorted(rows, key=row_order),
        dead=sorted(dead, key=dead_letter_order),
        counts=counts,
        progress={
            lane.name: None if lane.progress == -math.inf else lane.progress for lane in lanes
        },
    )


def held_by(pipeline: Pipeline, log: Iterable[LogEntry], row: RowId) -> list[Place]:
    """Return the places of the records that a query's row is made of; none if there is no such row.

    Args:
        pipeline: what is computed.
        log: the whole log, as for `evaluate`.
        row: which row.

    Raises:
        BadLogError: not a log of this pipeline.
    """
    query = next((query for query in pipeline.queries if query.name == row.query), None)
    if query is None:
        return []  # a row of a join has its records in its key
    view = Views(pipeline, log).of(query)
    for shown in revisions(query, view.items, view.lanes):
        if RowId(query.name, shown.wid, key_of(query, shown), shown.revision) == row:
            return [(item.partition, item.offset) for item in shown.holds]
    return []


def _refused(
    query: Flow, definition: FlowDefinition, items: Iterable[Item]
) -> tuple[list[DeadLetter], dict[str, int]]:
    """The dead letters of a query, and how many of its records were taken, outside, dropped."""
    refused: list[DeadLetter] = []
    tally = {"applied": 0, "outside": 0, "dropped": 0}
    policy = query.late.policy
    for item in items:
        if definition.takes(item):
            tally["applied"] += 1
        elif definition.lateness(item) is None:
            tally["outside"] += 1
        elif policy == "drop":
            tally["dropped"] += 1
        else:
            reason = "late" if policy == "dead_letter" else "out_of_retention"
            place = (item.source, item.partition, item.offset)
            refused.append(DeadLetter(*place, query.name, reason))
    return refused, tally


def _row(query: Query, source: Source, shown: Shown) -> Row:
    offsets: dict[str, list[int]] = defaultdict(list)
    for item in shown.holds:
        offsets[item.lane].append(item.offset)
    kinds = {name: type_.kind for name, type_ in source.fields.items()}
    try:
        values = {spec.name: value_of(spec, kinds, shown) for spec in query.aggregates}
    except IntSumError as error:
        extent = f"[{shown.start}, {shown.end})"
        key = list(key_of(query, shown))
        msg = f"query {query.name}, window {shown.wid} {extent}, key {key}: {error}"
        raise IntSumError(msg) from None
    return Row(
        query=query.name,
        window_id=shown.wid,
        window_start_us=shown.start,
        window_end_us=shown.end,
        key=key_of(query, shown),
        pane="full" if shown.revision == 0 else "late",
        revision=shown.revision,
        records=len(shown.holds),
        retracts=shown.retracts,
        absorbed_by=shown.absorbed_by,
        offsets={lane: (min(held), max(held)) for lane, held in offsets.items()},
        values=values,
    )


def value_of(spec: Aggregate, kinds: Mapping[str, Kind], shown: Shown) -> Value:
    """One aggregate over what a revision shows; what is gone has none."""
    if shown.absorbed_by is not None:
        return None
    if spec.field is None:
        return len(shown.holds)
    if spec.function == "python":
        rows = [[item.fields[name] for name in spec.fields] for item in shown.holds]
        return by_user(spec, rows)
    values = [item.fields[spec.field] for item in shown.holds]
    if spec.function in ("argmin", "argmax"):
        # Without a field to show, a record shows its windowing attribute.
        shows = [item.fields[spec.more[0]] if spec.more else item.value for item in shown.holds]
        return extreme(spec, list(zip(values, shows, strict=True)))
    return aggregate(spec, kinds[spec.field], values)


def _dead(arrival: Arrival, query: str | None, reason: str) -> DeadLetter:
    return DeadLetter(_topic(arrival), arrival.partition, arrival.offset, query, reason)


def _topic(arrival: Arrival) -> str:
    return arrival.lane.rpartition("/")[0]
