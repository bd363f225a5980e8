"""Defects of what a source computes of its records: order, failures, null, and what is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from chaos.planted_bugs.lanes import without
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import FATE, KIND, TIME, WARNED, field_column
from windowing.engine.lane import Lane, LaneState
from windowing.engine.progress.clock import ClockId, Course, Rows
from windowing.engine.reading.computing import Judged, computed, judge
from windowing.engine.reading.expressions import Evaluated, Named, evaluate, evaluate_in_order
from windowing.engine.reading.pack import BAD, DATA, RawRows
from windowing.engine.reading.rules import ValueRules
from windowing.engine.storage.frames import where
from windowing.engine.storage.state import StateStore
from windowing.engine.tally import Tally
from windowing.engine.wids import Flags
from windowing.model.computed import Computation
from windowing.model.expressions.tree import Call, Expression
from windowing.model.fates import FILTERED
from windowing.model.file.pipeline import Pipeline
from windowing.model.types import FieldType
from windowing.model.windows.window import ROW_NUM

_WITH: Final = Wish(computed=1.0)
_BY_COUNTS: Final = "deterministic, dead letters, conservation, repeatable, progress, no error"
_COMPUTING: Final = "windowing.engine.reading.computing"

planted_in_reading = partial(planted, expected=_BY_COUNTS, wish=_WITH)


def _roles(pipeline: Pipeline) -> list[str]:
    return [one.role for part in pipeline.source.parts for one in part.computations]


def computes(pipeline: Pipeline) -> bool:
    """Whether a source computes anything."""
    return bool(_roles(pipeline))


def filters(pipeline: Pipeline) -> bool:
    """Whether a source has a filter."""
    return "where" in _roles(pipeline)


def has_rules(pipeline: Pipeline) -> bool:
    """Whether a source has a rule that buries."""
    return "rule" in _roles(pipeline)


# Records that are filtered before the generator sees them. How one gets it: `where` is pushed down
# into the reader, as in every other engine, where it changes no result.
@planted_in_reading("filter_before_progress", shows_in=filters)
class FilteringLane(Lane):
    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        run = super()._run
        if clock.attribute == ROW_NUM:
            return run(clock, rows, state, store)
        return without(FILTERED, rows, lambda seen: run(clock, seen, state, store))


def with_times(
    chunk: pl.DataFrame, rules: ValueRules, *, data: int, bad: int
) -> tuple[pl.DataFrame, Judged]:
    found, judged = computed(chunk, rules, data=data, bad=bad)
    return found.with_columns(chunk[TIME]), judged


# Records that break a rule, and move progress all the same. How one gets it: rules are judged where
# dead letters are written, behind the generator.
@planted_in_reading(
    "broken_rule_moves_progress",
    also={"windowing.engine.reading.pack:computed": with_times},
    shows_in=has_rules,
)
class BelievingLane(Lane):
    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        timed = rows.all[TIME].is_not_null().to_numpy()
        buried = (rows.all[KIND] == BAD).to_numpy() & timed & ~rows.after_end
        if clock.attribute != self._source.event_time.field or clock.key or not buried.any():
            return super()._run(clock, rows, state, store)
        kinds, is_data = rows.all[KIND].to_numpy().copy(), rows.is_data | buried
        kinds[buried] = DATA
        whole = rows.all.with_columns(pl.Series(KIND, kinds))
        here = pl.lit(self._partition, dtype=pl.Int32).alias("partition")
        more = replace(
            rows, all=whole, data=where(whole, is_data).with_columns(here), is_data=is_data
        )
        course = super()._run(clock, replace(more, withheld=None), state, store)
        own = rows.is_data[is_data]
        return replace(course, values=course.values[own], progress_us=course.progress_us[own])


# What is not evaluated fails. How one gets it: every part of an expression is computed for whole
# columns, and a division by zero anywhere is a failure.
@planted_in_reading(
    "what_is_not_evaluated_fails", at=f"{_COMPUTING}:evaluate_in_order", shows_in=computes
)
def eager(named: Named, frame: pl.DataFrame, known: Mapping[str, FieldType]) -> list[Evaluated]:
    found = list[Evaluated]()
    for one, (_, expression) in zip(evaluate_in_order(named, frame, known), named, strict=True):
        parts = tuple((None, part) for part in _parts(expression))
        failed = one.failed
        for part in evaluate_in_order((*named, *parts), frame, known)[len(named) :]:
            failed = failed | part.failed
        found.append(Evaluated(one.values, failed))
    return found


def _parts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield argument
            yield from _parts(argument)


# A condition that is null holds. How one gets it: `filter(~condition)` finds what is to go.
@planted_in_reading("null_condition_holds", at=f"{_COMPUTING}:evaluate_in_order", shows_in=computes)
def null_is_true(
    named: Named, frame: pl.DataFrame, known: Mapping[str, FieldType]
) -> list[Evaluated]:
    return [
        Evaluated(one.values.fill_null(value=True), one.failed)
        if one.values.dtype == pl.Boolean
        else one
        for one in evaluate_in_order(named, frame, known)
    ]


def _judged(
    columns: pl.DataFrame,
    taken: Flags,
    withheld: Flags | None,
    rules: ValueRules,
    computations: list[Computation],
) -> Judged:
    found = judge(columns, taken, withheld, replace(rules, computations=tuple(computations)))
    # Numbers of dead letters are those of the source's own order.
    numbers = [rules.computations.index(one) for one in computations]
    broken = np.array([*numbers, -1], np.int64)[found.broken]
    return replace(found, broken=broken)


# Derived fields that are computed before all rules, wherever they stand. How one gets it: two
# passes, one for columns and one for checks.
@planted_in_reading("derived_before_all_rules", at=f"{_COMPUTING}:judge", shows_in=has_rules)
def derived_first(
    columns: pl.DataFrame, taken: Flags, withheld: Flags | None, rules: ValueRules
) -> Judged:
    order = sorted(rules.computations, key=lambda one: one.role in ("rule", "warn"))
    order.sort(key=lambda one: one.role in ("where", "argument"))
    return _judged(columns, taken, withheld, rules, order)


# A filter that is applied before rules. How one gets it: what is not wanted need not be checked.
@planted_in_reading("filter_before_rules", at=f"{_COMPUTING}:judge", shows_in=filters)
def filter_first(
    columns: pl.DataFrame, taken: Flags, withheld: Flags | None, rules: ValueRules
) -> Judged:
    order = sorted(rules.computations, key=lambda one: one.role in ("rule", "warn"))
    order.sort(key=lambda one: one.role == "argument")
    found = _judged(columns, taken, withheld, rules, order)
    return replace(found, broken=np.where(found.filtered, -1, found.broken))


# Rules that only warn, and bury. How one gets it: one way for all rules, and `on_fail` read late.
@planted_in_reading(
    "warning_buries",
    at=f"{_COMPUTING}:judge",
    shows_in=lambda pipeline: "warn" in _roles(pipeline),
)
def all_bury(
    columns: pl.DataFrame, taken: Flags, withheld: Flags | None, rules: ValueRules
) -> Judged:
    found = judge(columns, taken, withheld, rules)
    warned = [number for number, one in enumerate(rules.computations) if one.role == "warn"]
    broken = np.where((found.broken < 0) & (found.warned > 0), warned[0] if warned else -1, -1)
    return replace(found, broken=np.where(found.broken < 0, broken, found.broken))


# An argument of an aggregate that has no value counts as null. How one gets it: it is computed
# where the aggregate is, and nulls are skipped there.
@planted_in_reading(
    "failed_argument_is_null",
    at=f"{_COMPUTING}:judge",
    shows_in=lambda pipeline: "argument" in _roles(pipeline),
)
def skipped_as_null(
    columns: pl.DataFrame, taken: Flags, withheld: Flags | None, rules: ValueRules
) -> Judged:
    first = [one for one in rules.computations if one.role != "argument"]
    found = _judged(columns, taken, withheld, rules, first)
    whole = found.columns
    for one in rules.computations:
        if one.role == "argument":
            values = evaluate(one.expression, whole, rules.known_fields).values
            whole = whole.with_columns(values.alias(field_column(one.name)))
    return replace(found, columns=whole)


# Filtered records that are counted as read by the filter, and again by the lane. How one gets it:
# each part counts what it sees.
@planted_in_reading(
    "filtered_is_read_twice", at="windowing.engine.tally:Tally.withhold", shows_in=filters
)
def read_twice(self: Tally, withheld: pl.DataFrame) -> None:
    filtered = int((withheld[FATE] == FILTERED.name).sum())
    self._read += len(withheld) + filtered
    self._of_all.update(withheld[FATE].to_list())


# Metadata that stays where it was when rows are cut. How one gets it: four columns are sliced in
# four lines, and a fifth one comes later.
@planted_in_reading(
    "metadata_of_the_first_rows",
    at="windowing.engine.reading.pack:RawRows.part",
    shows_in=lambda pipeline: bool(pipeline.source.carried),
)
def first_rows_metadata(self: RawRows, start: int, stop: int) -> RawRows:
    return RawRows(
        self.offsets[start:stop],
        self.values[start:stop],
        self.controls[start:stop],
        self.append_us[start:stop],
        {name: column[: stop - start] for name, column in self.metadata.items()},
    )


# Warnings of the last record alone. How one gets it: a counter is set where it should be added to.
@planted_in_reading(
    "warnings_of_the_last_chunk",
    at="windowing.engine.lane:Lane._warned",
    shows_in=lambda pipeline: "warn" in _roles(pipeline),
)
def last_alone(self: Lane, records: pl.DataFrame) -> dict[str, int]:
    return _WARNED(self, records.tail(1) if WARNED in records.columns else records)


_WARNED: Final = Lane._warned
