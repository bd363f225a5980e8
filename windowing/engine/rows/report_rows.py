"""From the reports of operators to rows, all of a step at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl

from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    AT,
    AT_FIRST,
    AT_LAST,
    FIRST_OFFSET,
    KEY,
    LAST_OFFSET,
    OFFSET,
    OFFSETS,
    OVERFLOW,
    PARTITION,
    RECORDS,
    REVISION,
    TIME,
    VALUES,
    WINDOW_ID,
    field_column,
)
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.rows.units import Report
from windowing.engine.tuning import tuning
from windowing.engine.windows.results import Results
from windowing.model import Pipeline
from windowing.model.fields import ValueType
from windowing.model.operators.query import LANE, OperatorQuery
from windowing.model.operators.steps import AggregateStep, UserStep

_REPORT = "report"


class ReportRows:
    """The builder of a query's rows from reports."""

    def __init__(self, query: OperatorQuery, pipeline: Pipeline) -> None:
        self._query, self._fields = query, pipeline.source.fields
        self._lanes = {n: pipeline.source.lane(n) for n in range(pipeline.source.partitions)}
        self._key = [field_column(name) for name in query.key]
        self._results: Results | None = None
        if isinstance(query.last, AggregateStep):
            self._accumulators = Accumulators.over(query.last.aggregates, self._fields, TIME)
            self._results = Results(query, self._accumulators)

    def of(self, reports: Sequence[Report], records: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of reports; an empty frame for none.

        Args:
            reports: of any units.
            records: all records in them, with time, place and fields.
        """
        if not reports:
            return pl.DataFrame()
        records = self._with_lane(records)
        rows, first, most = list[pl.DataFrame](), 0, tuning().report_members_max
        while first < len(reports):
            last, members = first, 0
            while last < len(reports) and (members < most or last == first):
                members += len(reports[last].rows)
                last += 1
            rows.append(self._some(reports[first:last], records))
            first = last
        return pl.concat(rows)

    def _with_lane(self, records: pl.DataFrame) -> pl.DataFrame:
        records = records.with_columns(pl.col(AT).alias(TIME))
        if self._query.order != "lane":
            return records
        lane = pl.col(PARTITION).replace_strict(self._lanes, return_dtype=pl.String)
        return records.with_columns(lane.alias(field_column(LANE)))

    def _some(self, reports: Sequence[Report], records: pl.DataFrame) -> pl.DataFrame:
        sizes = [len(report.rows) for report in reports]
        members = np.fromiter(chain.from_iterable(report.rows for report in reports), np.int64)
        report = pl.Series(_REPORT, np.repeat(np.arange(len(reports)), sizes), dtype=pl.Int64)
        held = records[members].with_columns(report)
        extents = held.group_by(_REPORT).agg(
            pl.col(AT).min().alias(AT_FIRST),
            pl.col(AT).max().alias(AT_LAST),
            # Records of a report share their key.
            *(pl.col(column).first() for column in self._key),
        )
        numbers = pl.DataFrame(
            {WINDOW_ID: [report.number for report in reports]}, schema={WINDOW_ID: pl.Int64}
        ).with_row_index(_REPORT)
        known = extents.join(numbers.cast({_REPORT: pl.Int64}), on=_REPORT)
        if self._results is not None:
            return self._aggregated(self._results, held, known)
        return self._single(reports, held, known)

    def _aggregated(
        self, results: Results, held: pl.DataFrame, known: pl.DataFrame
    ) -> pl.DataFrame:
        lifted = pl.DataFrame([held[_REPORT], held[PARTITION], *self._accumulators.lift(held)])
        parts = self._accumulators.merge(lifted, [_REPORT, PARTITION])
        revision = pl.lit(0, dtype=pl.Int64).alias(REVISION)
        parts = parts.join(known.select(_REPORT, WINDOW_ID, *self._key), on=_REPORT)
        rows = results.of(parts.with_columns(revision), _REPORT)
        extents = known.select(_REPORT, AT_FIRST, AT_LAST)
        return rows.join(extents, on=_REPORT, how="left", maintain_order="left").drop(_REPORT)

    def _single(
        self, reports: Sequence[Report], held: pl.DataFrame, known: pl.DataFrame
    ) -> pl.DataFrame:
        """Return rows with the fields of their record, or what a user's operator sent."""
        by_lane = held.group_by(_REPORT, PARTITION).agg(
            pl.len().alias(RECORDS),
            pl.col(OFFSET).min().alias(FIRST_OFFSET),
            pl.col(OFFSET).max().alias(LAST_OFFSET),
        )
        offsets = pl.struct(PARTITION, FIRST_OFFSET, LAST_OFFSET).sort_by(PARTITION).alias(OFFSETS)
        spans = by_lane.group_by(_REPORT).agg(pl.col(RECORDS).sum().cast(pl.Int64), offsets)
        rows = known.join(spans, on=_REPORT).sort(_REPORT)
        columns = [
            rows.select(WINDOW_ID, AT_FIRST, AT_LAST, RECORDS, OFFSETS),
            pl.DataFrame({REVISION: pl.zeros(len(rows), dtype=pl.Int64, eager=True)}),
            self._values(reports, held).to_struct(VALUES).to_frame(),
        ]
        if isinstance(self._query.last, UserStep):
            failed = [
                None if report.values is not None else [*self._query.shows] for report in reports
            ]
            columns.append(pl.DataFrame({OVERFLOW: failed}, schema={OVERFLOW: pl.List(pl.String)}))
        if self._key:
            key = rows.select(
                pl.col(column).alias(name)
                for column, name in zip(self._key, self._query.key, strict=True)
            )
            columns.append(key.to_struct(KEY).to_frame())
        return pl.concat(columns, how="horizontal")

    def _values(self, reports: Sequence[Report], held: pl.DataFrame) -> pl.DataFrame:
        if isinstance(self._query.last, UserStep):
            sent = [report.values or {} for report in reports]
            schema = {name: dtype_of(ValueType(kind)) for name, kind in self._query.last.outputs}
            return pl.DataFrame(sent, schema=schema)
        # One record each, in the order of the reports.
        return held.select(pl.col(field_column(name)).alias(name) for name in self._query.fields)
