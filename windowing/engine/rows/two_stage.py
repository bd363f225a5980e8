"""Sliding aggregates by time, in two stages: panes of one slide each, and windows of panes.

A report at a tick T, a whole multiple of the slide, is about the tuples with times in [T - range,
T), because ticks precede evictions and tuples of their instant (`spl.md` 4.6). The range is a
multiple of the slide, too, so these are whole panes: partial states, of which each record touches
one, and each report merges as many as the range has slides.

Source: Gedik 2014, section 4.1.8; its pitfalls: `spl.md` 6.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from windowing.engine.aggregates import Accumulators, StateSchema
from windowing.engine.columns import (
    AT,
    AT_FIRST,
    AT_LAST,
    OFFSET,
    PARTITION,
    REVISION,
    TIME,
    WINDOW_ID,
    field_column,
)
from windowing.engine.effects import took_effect
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.progress.clock import clock_by
from windowing.engine.progress.reached import Progress, StreamProgress
from windowing.engine.rows.part import ROWS, RowLanePart, RowShardPart, unit_columns
from windowing.engine.rows.units import DUE, UNITS
from windowing.engine.wids import ENDED
from windowing.engine.windows.chains import SPAN
from windowing.engine.windows.evaluation import ONE_BY_ONE, Evaluation, Keeps
from windowing.engine.windows.part import Tables
from windowing.engine.windows.results import Results
from windowing.model import Pipeline
from windowing.model.functions import SIGNATURES
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep
from windowing.model.windows.policy import Time

PANES: Final = "panes"
_PANE, _TICK, _REPORT = "pane", "tick", "report"
_BEGAN, _NUMBER = "began", "number"
_WHOLE = "whole"
"""The column of the only unit of a window that is not partitioned."""


def why_one_stage(query: OperatorQuery) -> str | None:
    """Return why a query cannot run in two stages; None: it can."""
    step = query.last
    if not isinstance(step, AggregateStep) or len(query.steps) > 1:
        return "only a single aggregate has panes"
    window = step.window
    eviction, trigger = window.eviction, window.trigger
    if not isinstance(eviction, Time) or not isinstance(trigger, Time):
        return "only windows evicted and triggered by time have panes"
    if eviction.period_us % trigger.period_us:
        return "the range is no multiple of the slide, so a window begins within a pane"
    if window.partition_eviction is not None:
        return "partition eviction looks at the tuples of all partitions"
    if query.order != "canonical" or query.clock != "record":
        return "panes need records in the order of the clock"
    for aggregate in step.aggregates:
        if aggregate.function != "python" and SIGNATURES[aggregate.function].numbers is None:
            return f"{aggregate.function} needs every value of a window"
    return None


def evaluation_of(query: OperatorQuery) -> Evaluation:
    """Return how a query is evaluated (Gedik 2014, section 4.1.8)."""
    because = why_one_stage(query)
    if because is not None:
        return Evaluation(
            way=f"tuple by tuple; not in two stages: {because}",
            because=because,
            keeps=Keeps.RECORDS,
            counted="tuples that windows hold, and records that progress has not passed",
        )
    eviction, trigger = query.last.window.eviction, query.last.window.trigger
    assert isinstance(eviction, Time)  # noqa: S101 - `why_one_stage` has checked it
    assert isinstance(trigger, Time)  # noqa: S101 - as above
    panes = eviction.period_us // trigger.period_us
    return Evaluation(
        way=f"two stages: a partial state per slide, and each report merges {panes} of them; "
        "tuples are not kept",
        because="windows are sums of panes",
        keeps=Keeps.PARTIALS,
        counted="panes of the last range",
    )


class TwoStagePart:
    """The shard's part of a query that runs in two stages.

    State: records that progress has not passed; panes, per unit, group and lane; and per unit, when
    it began, the number of its next report, and the next tick that has any tuple.

    Args:
        query: the query; `why_one_stage` has no objection.
    """

    def __init__(self, query: OperatorQuery, pipeline: Pipeline) -> None:
        step = query.last
        assert isinstance(step, AggregateStep)  # noqa: S101 - the planner has checked it
        eviction, trigger = step.window.eviction, step.window.trigger
        assert isinstance(eviction, Time)  # noqa: S101 - as above
        assert isinstance(trigger, Time)  # noqa: S101 - as above
        self._range_us, self._slide_us = eviction.period_us, trigger.period_us
        self._partial_windows = step.partial_windows
        self._unit = unit_columns(query) or [_WHOLE]
        groups = (field_column(name) for name in step.group_by)
        self._by = list(dict.fromkeys([*self._unit, *groups]))
        self._accumulators = Accumulators.over(step.aggregates, pipeline.source.fields, TIME)
        self._results = Results(query, self._accumulators)

    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        """Process what progress has reached; return the rows and the new state."""
        del wall_us
        assert isinstance(after, StreamProgress)  # noqa: S101 - operators go by event time
        waiting, until_us = tables[ROWS], after.stream_us
        new = waiting.filter(pl.col(AT) < until_us).with_columns(pl.lit(0).alias(_WHOLE))
        panes = self._panes(tables, new)
        units = self._units(tables, new)
        ended = until_us == ENDED
        to_us = max(lane.furthest_us for lane in after.lanes) if ended else until_us
        rows, units = self._reports(panes, units, to_us, ended=ended)
        took_effect("two stages", len(rows))
        if ended:
            return rows, {ROWS: waiting.clear(), PANES: panes.clear(), UNITS: units.clear()}
        next_us = (until_us // self._slide_us + 1) * self._slide_us
        kept = panes.filter(self._last_tick() >= next_us)
        alive = kept.select(self._unit).unique().with_columns(pl.lit(next_us).alias(DUE))
        units = units.drop(DUE).join(alive, on=self._unit, how="left", nulls_equal=True)
        units = units.with_columns(pl.col(DUE).fill_null(ENDED))
        return rows, {ROWS: waiting.filter(pl.col(AT) >= until_us), PANES: kept, UNITS: units}

    # --- stage 1: panes -----------------------------------------------------------------------

    def _panes(self, tables: Tables, new: pl.DataFrame) -> pl.DataFrame:
        records = new.with_columns(pl.col(AT).alias(TIME))
        own = new.select(
            *self._by,
            PARTITION,
            (pl.col(AT) // self._slide_us).alias(_PANE),
            pl.col(AT).alias(AT_FIRST),
            pl.col(AT).alias(AT_LAST),
        )
        lifted = own.with_columns(*self._accumulators.lift(records))
        parts = [tables[PANES], lifted] if PANES in tables else [lifted]
        return self._merged(self._accumulators.concat(parts), _PANE)

    def _merged(self, partials: pl.DataFrame, by: str) -> pl.DataFrame:
        return self._accumulators.merge(partials, [*self._by, PARTITION, by], SPAN)

    def _units(self, tables: Tables, new: pl.DataFrame) -> pl.DataFrame:
        """Return the units with new ones; an earlier record never comes later."""
        first = new.group_by(self._unit).agg(
            pl.col(AT).min().alias(_BEGAN),
            pl.lit(0, dtype=pl.Int64).alias(_NUMBER),
            pl.lit(ENDED, dtype=pl.Int64).alias(DUE),
        )
        known = [tables[UNITS], first] if UNITS in tables else [first]
        minima = (pl.col(_BEGAN).min(), pl.col(_NUMBER).max(), pl.col(DUE).min())
        return pl.concat(known).group_by(self._unit).agg(*minima)

    def _last_tick(self) -> pl.Expr:
        return pl.col(_PANE) * self._slide_us + self._range_us

    # --- stage 2: windows of panes ------------------------------------------------------------

    def _reports(
        self, panes: pl.DataFrame, units: pl.DataFrame, to_us: int, *, ended: bool
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows of all ticks up to an instant, and the units with their numbers."""
        until = pl.lit(to_us, dtype=pl.Int64)
        if ended:
            # A unit's clock has shown its own last record, too.
            until = pl.max_horizontal(until, pl.col(AT_LAST).max().over(self._unit))
        known = panes.join(units, on=self._unit, nulls_equal=True)
        # A unit without panes has no due tick, and a new pane's ticks are all to come.
        due = pl.when(pl.col(DUE) == ENDED).then(pl.lit(None, dtype=pl.Int64)).otherwise(DUE)
        first = pl.max_horizontal((pl.col(_PANE) + 1) * self._slide_us, due)
        if not self._partial_windows:
            # The window is full once its first tuple is evicted, just after its time in it.
            full = (pl.col(_BEGAN) + self._range_us) // self._slide_us + 1
            first = pl.max_horizontal(first, full * self._slide_us)
        last = pl.min_horizontal(self._last_tick(), until // self._slide_us * self._slide_us)
        ticked = known.with_columns(first.alias("first_tick"), last.alias("last_tick"))
        ticked = ticked.filter(pl.col("first_tick") <= pl.col("last_tick"))
        if not len(ticked):
            return pl.DataFrame(), units
        ticks = pl.int_ranges("first_tick", pl.col("last_tick") + 1, self._slide_us)
        members = ticked.with_columns(ticks.alias(_TICK)).explode(_TICK)
        merged = self._merged(members.drop(_BEGAN, _NUMBER, DUE), _TICK)
        return self._numbered(merged, units)

    def _numbered(
        self, merged: pl.DataFrame, units: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        ticks = merged.select(*self._unit, _TICK).unique().sort(_TICK)
        rank = pl.int_range(pl.len(), dtype=pl.Int64).over(self._unit)
        ticks = ticks.with_columns(rank.alias("rank")).join(
            units.select(*self._unit, _NUMBER), on=self._unit, nulls_equal=True
        )
        ticks = ticks.with_columns((pl.col("rank") + pl.col(_NUMBER)).alias(WINDOW_ID))
        parts = merged.join(
            ticks.select(*self._unit, _TICK, WINDOW_ID),
            on=[*self._unit, _TICK],
            nulls_equal=True,
        )
        reports = parts.select(*self._by, _TICK).unique().with_row_index(_REPORT)
        parts = parts.join(reports, on=[*self._by, _TICK], nulls_equal=True)
        extents = parts.group_by(_REPORT).agg(pl.col(AT_FIRST).min(), pl.col(AT_LAST).max())
        revision = pl.lit(0, dtype=pl.Int64).alias(REVISION)
        rows = self._results.of(parts.with_columns(revision), _REPORT)
        sent = ticks.group_by(self._unit).agg(pl.len().cast(pl.Int64).alias("sent"))
        units = units.join(sent, on=self._unit, how="left", nulls_equal=True)
        number = pl.col(_NUMBER) + pl.col("sent").fill_null(0)
        return rows.join(extents, on=_REPORT).drop(_REPORT), units.with_columns(
            number.alias(_NUMBER)
        ).drop("sent")

    # --- what the shard asks ------------------------------------------------------------------

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the stream's progress at which the next row is due."""
        del after
        at = int(tables[ROWS][AT].to_numpy().min(initial=ENDED - 1)) + 1
        return min(at, int(tables[UNITS][DUE].to_numpy().min(initial=ENDED)))

    def canonical_state(self, tables: Tables) -> Tables:
        """Return the state in an order that does not depend on batches."""
        order = {
            ROWS: [AT, PARTITION, OFFSET],
            PANES: [*self._by, PARTITION, _PANE],
            UNITS: self._unit,
        }
        held = {
            name: self._accumulators.schema.trimmed(t.sort(order[name]))
            for name, t in tables.items()
        }
        # Bins come in the order of the values that needed them.
        return {name: frame.select(sorted(frame.columns)) for name, frame in held.items()}


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
