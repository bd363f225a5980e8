"""What flows of each kind mean: which records they take, and which rows they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Query, Source
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep
from windowing.model.query import Flow, JoinQuery
from windowing.model.rows import Key, Row
from windowing.model.window_join import WindowJoinQuery
from windowing.semantics.having import sent
from windowing.semantics.revisions import (
    key_of,
    offsets_of,
    revisions,
    row_of,
    values_of,
)
from windowing.semantics.units import WindowRevision
from windowing.semantics.view import View
from windowing.semantics.windows import asof, joins, operators, policy_joins, window_joins
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import FlowDefinition

Place = tuple[str, int, int]
"""Partition and offset of a record."""


@dataclass(frozen=True)
class RowId:
    """The identity of a row: query, window, key and revision."""

    query: str
    window_id: int
    key: Key
    revision: int


class FlowMeaning(Protocol):
    """What one flow means."""

    @property
    def definition(self) -> FlowDefinition:
        """What becomes of each record."""

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        """Yield the rows; none if they follow the machine's clock.

        Args:
            view: the log, or the part of it that decides them.
        """

    def held_by(self, source: Source, view: View, row: RowId) -> list[Place]:
        """Return the places of the records that a row is made of; none if there is no such row.

        Args:
            view: the log, or the part of it that decides the row.
        """

    def unit_fields(self, topic: str) -> Sequence[str]:
        """Return the fields of a topic's records whose values separate those that share no row."""


@dataclass(frozen=True)
class _Windows:
    query: Query

    @property
    def definition(self) -> FlowDefinition:
        return definition_of(self.query)

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        found = revisions(self.query, view.items, view.lanes, view.newest)
        rows = (row_of(self.query, source, shown) for shown in found)
        yield from sent(self.query, source.fields, rows)

    def held_by(self, source: Source, view: View, row: RowId) -> list[Place]:
        del source
        query = self.query
        for shown in revisions(query, view.items, view.lanes, view.newest):
            if RowId(query.name, shown.wid, key_of(query, shown), shown.revision) == row:
                return [(item.source, item.partition, item.offset) for item in shown.holds]
        return []

    def unit_fields(self, topic: str) -> Sequence[str]:
        del topic
        window = self.query.window
        if window.traits.per_key or isinstance(self.definition, ByValueDefinition):
            return self.query.key
        return () if window.pattr is None else (window.pattr,)


@dataclass(frozen=True)
class _Join:
    query: JoinQuery

    @property
    def definition(self) -> FlowDefinition:
        return joins.JoinDefinition(self.query)

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        meaning = policy_joins if isinstance(self.query, PolicyJoinQuery) else joins
        for row in meaning.rows(self.query, view.items, view.lanes):
            yield replace(row, offsets=source.by_number(row.offsets))

    def held_by(self, source: Source, view: View, row: RowId) -> list[Place]:
        del source, view, row
        return []  # a row of a join has its records in its key

    def unit_fields(self, topic: str) -> Sequence[str]:
        return self.query.shard_fields(self.query.side_of(topic))


@dataclass(frozen=True)
class _Asof(_Join):
    query: AsofQuery

    @property
    def definition(self) -> FlowDefinition:
        return asof.AsofDefinition(self.query)

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        for row in asof.rows(self.query, view.items, view.lanes):
            yield replace(row, offsets=source.by_number(row.offsets))


@dataclass(frozen=True)
class _WindowJoin(_Join):
    query: WindowJoinQuery

    @property
    def definition(self) -> FlowDefinition:
        return window_joins.WindowJoinDefinition(self.query)

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        for row in window_joins.rows(self.query, view.items, view.lanes):
            yield replace(row, offsets=source.by_number(row.offsets))


@dataclass(frozen=True)
class _Operators:
    query: OperatorQuery

    @property
    def definition(self) -> FlowDefinition:
        return operators.OperatorDefinition(self.query)

    def rows(self, source: Source, view: View) -> Iterator[Row]:
        if self.query.by_wall_clock:
            return
        for report in self._reports(source, view):
            yield self._row(source, report)

    def held_by(self, source: Source, view: View, row: RowId) -> list[Place]:
        return [
            (item.source, item.partition, item.offset)
            for report in self._reports(source, view)
            if RowId(self.query.name, report.number, report.key, 0) == row
            for item in report.items
        ]

    def unit_fields(self, topic: str) -> Sequence[str]:
        del topic
        return self.query.unit

    def _reports(self, source: Source, view: View) -> Iterator[operators.ReportedRow]:
        for unit in operators.operator_units(self.query, view.items, view.lanes):
            yield from operators.reported(self.query, source.event_time.field, unit)

    def _row(self, source: Source, report: operators.ReportedRow) -> Row:
        query, times = self.query, [item.value for item in report.items]
        shown = WindowRevision(
            report.number, min(times), max(times) + 1, None, report.key, 0, None, report.items
        )
        overflow: tuple[str, ...] = ()
        if isinstance(query.last, AggregateStep):
            values, overflow = values_of(query.last.aggregates, source.fields, shown)
        elif report.failed is not None:
            values, overflow = dict.fromkeys(query.shows), query.shows
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
            offsets=offsets_of(source, shown),
            values=values,
            overflow=overflow,
        )


KINDS: Final[Mapping[str, Callable[[Any], FlowMeaning]]] = {
    Query.flow_kind: _Windows,
    JoinQuery.flow_kind: _Join,
    AsofQuery.flow_kind: _Asof,
    WindowJoinQuery.flow_kind: _WindowJoin,
    OperatorQuery.flow_kind: _Operators,
}


def meaning_of(flow: Flow) -> FlowMeaning:
    """Return what a flow of a pipeline means."""
    return KINDS[flow.flow_kind](flow)
