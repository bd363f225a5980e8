"""A query of operators in lanes and shards: records judged late or sent on, and a chain per unit.

A shard's state: records that no operator has processed yet; records that operators hold; and per
unit, the state of its operators as JSON, in which records are references to the latter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from windowing.engine.columns import AT, OFFSET, PARTITION, field_column
from windowing.engine.progress.reached import Progress, StreamProgress
from windowing.engine.rows.report_rows import ReportRows
from windowing.engine.rows.units import DUE, HELD, UNITS, Units
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import Outcome, Scan, Tables, outcome_of
from windowing.model import Pipeline
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import (
    AggregateStep,
    DedupStep,
    Punctuate,
    SortStep,
    Step,
    UserStep,
)
from windowing.model.windows.policy import Delta, WindowClause

ROWS = "rows"
"""The table of records that no operator has processed yet."""


class RowLanePart:
    """The records of a lane for a query of operators.

    A row has `at` (its time), its offset, and the fields that operators or rows need.
    """

    def __init__(self, query: OperatorQuery, pipeline: Pipeline) -> None:
        self._query = query
        self._columns = [field_column(name) for name in _sent_fields(query, pipeline)]
        self.route = unit_columns(query)

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Split the records into on-time and late ones; in lane order none is late."""
        if self._query.order == "lane":
            late = np.zeros(len(scan.values), dtype=bool)
        else:
            late = scan.progress_us > scan.values
        taken = pl.Series(~late)
        records = scan.data.filter(taken)
        rows = pl.DataFrame(
            [
                pl.Series(AT, scan.values).filter(taken),
                records[OFFSET],
                pl.repeat(scan.partition, len(records), dtype=pl.Int32, eager=True).alias(
                    PARTITION
                ),
                *(records[column] for column in self._columns),
            ]
        )
        return outcome_of(self._query, scan, ~late, late), {ROWS: rows}

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return when each record is processed: once progress has passed it, or at once."""
        at = table[AT].to_numpy()
        if self._query.order == "lane":
            return np.full(len(at), NOTHING_YET)
        due: Ints = np.minimum(at, ENDED - 1) + 1
        return due


def unit_columns(query: OperatorQuery) -> list[str]:
    """Return the columns whose values have independent windows."""
    lane = [PARTITION] if query.order == "lane" else []
    return [*lane, *(field_column(name) for name in query.unit)]


def read_fields(query: OperatorQuery, pipeline: Pipeline) -> tuple[str, ...]:
    """Return the fields that operators read, in the order of the source."""
    fields = pipeline.source.fields
    if isinstance(query.last, UserStep):
        return tuple(fields)
    read = {field for step in query.steps for field in _fields_of(step)}
    return tuple(field for field in fields if field in read)


def _sent_fields(query: OperatorQuery, pipeline: Pipeline) -> tuple[str, ...]:
    fields = pipeline.source.fields
    if not isinstance(query.last, AggregateStep):
        # Sort and Dedup show all fields, and users' operators see them.
        return tuple(fields)
    asked = {field for aggregate in query.last.aggregates for field in aggregate.fields}
    asked.update(read_fields(query, pipeline))
    return tuple(field for field in fields if field in asked)


def _fields_of(step: Step) -> Iterator[str]:
    match step:
        case Punctuate():
            yield step.when.field
            return
        case AggregateStep():
            yield from step.group_by
        case SortStep():
            yield from (name for name, _ in step.by)
        case DedupStep():
            yield from step.by
        case UserStep():
            pass
    yield from _fields_of_window(step.window)


def _fields_of_window(window: WindowClause) -> Iterator[str]:
    yield from window.partition_by
    for policy in (window.eviction, window.trigger):
        if isinstance(policy, Delta):
            yield policy.attribute


class RowShardPart:
    """The operators of one query in a shard."""

    def __init__(self, query: OperatorQuery, pipeline: Pipeline) -> None:
        self._query = query
        self._event_time = pipeline.source.event_time.field
        self._columns, self._rows = unit_columns(query), ReportRows(query, pipeline)
        self._read = [AT, *(field_column(name) for name in read_fields(query, pipeline))]
        self._by_lane = query.order == "lane"

    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        """Process what progress has reached; return the rows and the new state."""
        assert isinstance(after, StreamProgress)  # noqa: S101 - operators go by event time
        waiting, until_us = tables[ROWS], after.stream_us
        if self._by_lane:
            reached, order = pl.lit(value=True), [PARTITION, OFFSET]
        else:
            reached, order = pl.col(AT) < until_us, [AT, PARTITION, OFFSET]
        new = waiting.filter(reached).sort(order)
        # A caller without a clock leaves the records' own.
        now_us = wall_us if self._query.clock == "wall" else None
        units = Units(
            self._query, self._event_time, self._columns, self._read, tables=tables, new=new
        )
        units.feed(new[AT].to_list() if now_us is None else [now_us] * len(new))
        self._pass_time(units, after, now_us)
        found = self._rows.of(units.reports, units.records)
        return found, {ROWS: waiting.filter(~reached), **units.tables()}

    def _pass_time(self, units: Units, after: StreamProgress, wall_us: int | None) -> None:
        ended = after.stream_us == ENDED
        if wall_us is not None:
            units.advance(wall_us)
        elif not self._by_lane:
            # At the end of all lanes, the clock shows what no interleaving of them can change.
            furthest_us = max(lane.furthest_us for lane in after.lanes)
            units.advance(furthest_us if ended else after.stream_us)
        if self._by_lane:
            lanes = (n for n, lane in enumerate(after.lanes) if lane.progress_us == ENDED)
            units.finish(frozenset(lanes))
        elif ended:
            units.finish(None)

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the stream's progress at which the next row is due."""
        del after
        rows, units = tables[ROWS], tables[UNITS]
        if self._by_lane or self._query.clock == "wall":
            # Neither the end of a lane nor the machine's clock is progress of the stream.
            return NOTHING_YET if len(rows) or len(units) else ENDED
        at = int(rows[AT].to_numpy().min(initial=ENDED - 1)) + 1
        return min(at, int(units[DUE].to_numpy().min(initial=ENDED)))

    def canonical_state(self, tables: Tables) -> Tables:
        """Return the state in an order that does not depend on batches."""
        by_place, by_unit = [AT, PARTITION, OFFSET], self._columns
        order = {ROWS: by_place, HELD: by_place, UNITS: by_unit}
        return {
            name: frame.sort(order[name]) if order[name] else frame
            for name, frame in tables.items()
        }
