"""How a query of operators is run: record by record, in one stage or in two."""

from __future__ import annotations

import polars as pl

from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import AT_FIRST, AT_LAST, TIME
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.progress.clock import clock_by
from windowing.engine.rows.part import RowLanePart, RowShardPart, unit_columns
from windowing.engine.rows.two_stage import TwoStagePart, evaluation_of, why_one_stage
from windowing.engine.windows.evaluation import ONE_BY_ONE
from windowing.model import Pipeline
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep


def plan_operators(query: OperatorQuery, pipeline: Pipeline) -> FlowPlan[OperatorQuery]:
    """Decide how a query of operators is run: by event time, in two stages where it has panes."""
    source, step = pipeline.source, query.last
    aggregates = step.aggregates if isinstance(step, AggregateStep) else ()
    return FlowPlan(
        query,
        RowLanePart,
        TwoStagePart if why_one_stage(query) is None else RowShardPart,
        replaces=True,
        evaluation=evaluation_of(query),
        schema=StateSchema.over(aggregates, source.fields, TIME),
        route=tuple(unit_columns(query)),
        clock=clock_by(source.event_time.field, source),
        whole=ONE_BY_ONE,
    )


def report_extents(_: OperatorQuery, rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Start and end of each report: the first of its records, and just behind the last."""
    last = rows[AT_LAST].to_list()
    return [(start, at + 1) for start, at in zip(rows[AT_FIRST].to_list(), last, strict=True)]
