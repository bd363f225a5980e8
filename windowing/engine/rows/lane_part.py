"""The lane's part of a query of operators: records, judged late or sent on one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from windowing.engine.columns import AT, OFFSET, PARTITION, field_column
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import Outcome, Scan, Tables
from windowing.engine.windows.refused import dead_letters
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

    Args:
        query: the query.
        pipeline: its pipeline.
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
        letters = dead_letters(self._query, scan.data, late, scan.partition)
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
        outcome = Outcome(
            dead_letters=letters,
            applied=len(records),
            outside=0,
            dropped=int(late.sum()) - len(letters),
        )
        return outcome, {ROWS: rows}

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
    """Return the fields that operators read or rows need, in the order of the source."""
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
