"""The definition: the rows of a pipeline as a function of its log.

`view` follows the log lane by lane, and gives each record the progress of its lane before it, and
each lane its final progress. From these alone, `revisions` derives each query's rows. So neither
the order between lanes, nor batches, nor clocks can influence them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from windowing.model.fields import Aggregate, Kind
from windowing.model.file.pipeline import Pipeline, Query, Source
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep
from windowing.model.query import AnyFlow, JoinQuery
from windowing.model.rows import DeadLetter, Key, Row, Value, dead_letter_order, row_order
from windowing.semantics.aggregates import IntSumError, aggregate, by_user, extreme
from windowing.semantics.effective import effective
from windowing.semantics.lanes import Arrival
from windowing.semantics.log import LogEntry
from windowing.semantics.revisions import key_of, revisions
from windowing.semantics.units import Item, Shown
from windowing.semantics.view import View, Views
from windowing.semantics.windows import joins, operators, policy_joins
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import FlowDefinition


@dataclass(frozen=True)
class Counts:
    """The fate of a query's records; `read = applied + outside + dropped + dead`.

    Attributes:
        read: data records of the log, including bad values, excluding control records.
        applied: taken by at least one window, open or closed.
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
    """Everything that a log yields under a pipeline.

    Attributes:
        rows: every revision of every window, in the order of an output file; none of operators that
            follow the machine's clock, which no log determines.
        dead: every dead letter, in the order of an output file.
        counts: by query, in file order.
        progress: each lane's final progress in microseconds; None: it never had any; `math.inf`: it
            ended.
    """

    rows: list[Row]
    dead: list[DeadLetter]
    counts: dict[str, Counts]
    progress: dict[str, int | float | None]


@dataclass(frozen=True)
class RowId:
    """The identity of a row: query, window, key and revision."""

    query: str
    window_id: int
    key: Key
    revision: int


Place = tuple[int, int]
"""Partition and offset of a record."""


def evaluate(pipeline: Pipeline, log: Iterable[LogEntry]) -> Outcome:
    """Return the rows, dead letters and counts of a log under a pipeline, and its own changes.

    Args:
        pipeline: the pipeline to evaluate.
        log: the whole log, in any interleaving of lanes; each lane in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
        IntSumError: a sum of ints in some row overflows 64 bits.
    """
    log = list(log)
    pipeline = effective(pipeline, log)
    views = Views(pipeline, log)
    arrivals, lanes = views.by(None).arrivals, views.by(None).lanes
    bad = [bad_value(a, a.content) for a in arrivals if isinstance(a.content, str)]
    dead = list(bad)
    rows: list[Row] = []
    counts: dict[str, Counts] = {}
    for query in pipeline.flows:
        view = views.of(query)
        rows += rows_of(query, pipeline.source, view)
        refused, tally = fates(query, view.items)
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


def rows_of(query: AnyFlow, source: Source, view: View) -> Iterator[Row]:
    """Yield the rows of one query; none if it follows the machine's clock.

    Raises:
        IntSumError: as of `evaluate`.
    """
    if isinstance(query, JoinQuery):
        yield from _joined(query, view)
    elif isinstance(query, OperatorQuery):
        if query.clock == "record":
            yield from _reported(query, source, view)
    else:
        for shown in revisions(query, view.items, view.lanes, view.newest):
            yield row_of(query, source, shown)


def held_by(query: AnyFlow, source: Source, view: View, row: RowId) -> list[Place]:
    """Return the places of the records that a query's row is made of; none if there is no such row.

    Args:
        query: the query.
        source: the pipeline's source.
        view: the log, or the part of it that decides the row.
        row: the row's identity.
    """
    if isinstance(query, JoinQuery):
        return []  # a row of a join has its records in its key
    if isinstance(query, OperatorQuery):
        return [
            (item.partition, item.offset)
            for report in _reports(query, source, view)
            if RowId(query.name, report.number, report.key, 0) == row
            for item in report.items
        ]
    for shown in revisions(query, view.items, view.lanes, view.newest):
        if RowId(query.name, shown.wid, key_of(query, shown), shown.revision) == row:
            return [(item.partition, item.offset) for item in shown.holds]
    return []


def flow_definition(query: AnyFlow) -> FlowDefinition:
    """Return the definition of what becomes of each record in a query."""
    if isinstance(query, JoinQuery):
        return joins.JoinDefinition(query)
    if isinstance(query, OperatorQuery):
        return operators.OperatorDefinition(query)
    return definition_of(query)


def fates(query: AnyFlow, items: Iterable[Item]) -> tuple[list[DeadLetter], dict[str, int]]:
    """Return a query's own dead letters, and how many records it applied, left outside, dropped."""
    definition = flow_definition(query)
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


def row_of(query: Query, source: Source, shown: Shown) -> Row:
    """Return the row that shows a revision.

    Raises:
        IntSumError: as of `evaluate`.
    """
    key = key_of(query, shown)
    return Row(
        query=query.name,
        window_id=shown.wid,
        window_start_us=shown.start,
        window_end_us=shown.end,
        key=key,
        pane="full" if shown.revision == 0 else "late",
        revision=shown.revision,
        records=len(shown.holds),
        retracts=shown.retracts,
        absorbed_by=shown.absorbed_by,
        offsets=_offsets(shown),
        values=_values(query.name, query.aggregates, source, shown, key),
    )


def _reports(query: OperatorQuery, source: Source, view: View) -> Iterator[operators.ReportedRow]:
    """Yield the reports of all units."""
    for unit in operators.operator_units(query, view.items, view.lanes):
        yield from operators.reported(query, source.event_time.field, unit)


def _reported(query: OperatorQuery, source: Source, view: View) -> Iterator[Row]:
    """Yield the rows of a query of operators."""
    for report in _reports(query, source, view):
        yield _report_row(query, source, report)


def _report_row(query: OperatorQuery, source: Source, report: operators.ReportedRow) -> Row:
    times = [item.value for item in report.items]
    shown = Shown(
        report.number, min(times), max(times) + 1, None, report.key, 0, None, report.items
    )
    if isinstance(query.last, AggregateStep):
        values = _values(query.name, query.last.aggregates, source, shown, report.key)
    elif report.values is not None:
        values = dict(report.values)
    else:
        (item,) = report.items
        values = {name: item.fields[name] for name in query.fields}
    return Row(
        query=query.name,
        window_id=report.number,
        window_start_us=shown.start,
        window_end_us=shown.end,
        key=report.key,
        pane="full",
        revision=0,
        records=len(report.items),
        offsets=_offsets(shown),
        values=values,
    )


def _offsets(shown: Shown) -> dict[str, tuple[int, int]]:
    """Return the first and last offset of a row's records, by lane."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for item in shown.holds:
        offsets[item.lane].append(item.offset)
    return {lane: (min(held), max(held)) for lane, held in offsets.items()}


def _values(
    query: str, aggregates: Sequence[Aggregate], source: Source, shown: Shown, key: Key
) -> dict[str, Value]:
    """Return the aggregates of a row, by name."""
    kinds = {name: type_.kind for name, type_ in source.fields.items()}
    try:
        return {spec.name: value_of(spec, kinds, shown) for spec in aggregates}
    except IntSumError as error:
        extent = f"[{shown.start}, {shown.end})"
        msg = f"query {query}, window {shown.wid} {extent}, key {list(key)}: {error}"
        raise IntSumError(msg) from None


def value_of(spec: Aggregate, kinds: Mapping[str, Kind], shown: Shown) -> Value:
    """Return one aggregate over a revision's records; null for a tombstone."""
    if shown.absorbed_by is not None:
        return None
    if spec.field is None:
        return len(shown.holds)
    if spec.function == "python":
        rows = [[item.fields[name] for name in spec.fields] for item in shown.holds]
        return by_user(spec, rows)
    values = [item.fields[spec.field] for item in shown.holds]
    if spec.function in ("argmin", "argmax"):
        # Without a field to show, show the windowing attribute.
        shows = [item.fields[spec.more[0]] if spec.more else item.value for item in shown.holds]
        return extreme(spec, list(zip(values, shows, strict=True)))
    return aggregate(spec, kinds[spec.field], values)


def _joined(query: JoinQuery, view: View) -> list[Row]:
    if isinstance(query, PolicyJoinQuery):
        return policy_joins.rows(query, view.items, view.lanes)
    return joins.rows(query, view.items, view.lanes)


def bad_value(arrival: Arrival, reason: str) -> DeadLetter:
    """Return the dead letter of a record that no query takes."""
    topic = arrival.lane.rpartition("/")[0]
    return DeadLetter(topic, arrival.partition, arrival.offset, None, reason)
