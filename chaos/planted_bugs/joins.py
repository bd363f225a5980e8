"""Defects of joins: reach, outer rows, null keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import polars as pl

from chaos.planted_bugs.conditions import outer, some_join, some_policy_join, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AT, INSTANT
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.join_course import MATCHED, Course
from windowing.engine.rows.join_part import PolicyJoinShardPart
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.windows.join import _COMPARE, JoinLanePart, JoinShardPart, _SideRecords
from windowing.engine.windows.join_rows import SIDES
from windowing.engine.windows.part import Outcome, Scan, Tables
from windowing.model.file.pipeline import Pipeline
from windowing.model.join import Side
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.query import JoinQuery


def with_less(_: Pipeline, join: JoinQuery) -> bool:
    return any(c.operator == "<" for c in join.where)


# A join whose `<` accepts equal values. How one gets it: one character in a table of operators.
planted(
    "join_condition_inclusive",
    "deterministic",
    at="windowing.engine.windows.join:_COMPARE",
    shows_in=some_join(with_less),
)({**_COMPARE, "<": pl.Expr.le})


# A join that keeps records for the window only, ignoring late partners. How one gets it: state is
# purged at the watermark minus the window.
@planted("join_forgets_what_was_alone", "deterministic", shows_in=some_join(updates))
class TidyShardPart(JoinShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept, until = super().retained(tables, after), int(after.of(tables["left"])[0])
        longest = max((reach or 0 for reach in self._reach.values()), default=0)
        near = pl.max_horizontal(pl.col(AT) + longest, INSTANT) >= until
        return {side: kept[side].filter(near) for side in SIDES}


# A record exactly at its lane's progress is late for a join. How one gets it: a bound read as
# inclusive.
@planted(
    "join_late_at_the_bound", "deterministic, dead letters, conservation", shows_in=some_join()
)
class StrictLanePart(JoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        late = scan.progress_us == scan.values
        return super().assign(replace(scan, progress_us=scan.progress_us + late))


# A join that looks for partners among the records of the same batch only. How one gets it: a
# stream-stream join as a join of two micro-batches.
@planted("join_new_misses_old", "deterministic", shows_in=some_join())
class BatchShardPart(JoinShardPart):
    def _new_pairs(self, moved: _SideRecords) -> pl.DataFrame:
        return self._match(moved.new("left"), moved.new("right"))


_NULL = "\x00null"


def of_equal_keys(_: Pipeline, join: JoinQuery) -> bool:
    """Something must be equal."""
    return bool(join.on)


# A join in which null keys are equal. How one gets it: a hash join over columns in which null is
# a value.
@planted("join_null_matches_null", "deterministic", shows_in=some_join(of_equal_keys))
class NullShardPart(JoinShardPart):
    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        text = [name for name in self._equal if left.schema[name] == pl.String]
        named = [side.with_columns(pl.col(text).fill_null(_NULL)) for side in (left, right)]
        pairs = super()._match(*named)
        back = [pl.when(pl.col(n) == _NULL).then(None).otherwise(pl.col(n)).alias(n) for n in text]
        return pairs.with_columns(back)


# A join that finds the pairs of two new records from both sides. How one gets it: symmetric hash
# joins that insert both sides before they probe.
@planted("join_pairs_twice", "exactly once", shows_in=some_join())
class SymmetricShardPart(JoinShardPart):
    def _new_pairs(self, moved: _SideRecords) -> pl.DataFrame:
        again = self._match(moved.new("left"), moved.new("right"))
        return pl.concat([super()._new_pairs(moved), again])


def of_two_lengths(_: Pipeline, join: JoinQuery) -> bool:
    """The two windows differ."""
    return join.left != join.right


# A join that uses the other side's window on each side. How one gets it: "the left window" can
# mean the window over left records, or the one they look into.
@planted("join_reach_of_the_other_side", "deterministic", shows_in=some_join(of_two_lengths))
class CrossedShardPart(JoinShardPart):
    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        crossed = {"left": self._reach["right"], "right": self._reach["left"]}
        with patch.object(self, "_reach", crossed):
            return super()._match(left, right)


# A join whose windows reach one instant too far ahead. How one gets it: `window + 1`, as for the
# instant at which a record is alone.
@planted("join_reach_one_long", "deterministic", shows_in=some_join())
class LongShardPart(JoinShardPart):
    def _bounds(self) -> list[pl.Expr]:
        left = self._reach["left"]
        longer = {**self._reach, "left": None if left is None else left + 1}
        with patch.object(self, "_reach", longer):
            return super()._bounds()


# `<` instead of `<=`: a right record exactly a window before a left one does not match. How one
# gets it: windows are half-open everywhere else.
@planted("join_reach_one_short", "deterministic", shows_in=some_join())
class ShortShardPart(JoinShardPart):
    def _bounds(self) -> list[pl.Expr]:
        right = self._reach["right"]
        shorter = {**self._reach, "right": None if right is None else right - 1}
        with patch.object(self, "_reach", shorter):
            return super()._bounds()


# A join that rejects a late record exactly a retention behind its lane's progress. How one gets
# it: one character.
@planted("join_retention_edge", "dead letters, conservation", shows_in=some_join(updates))
class ShortLanePart(JoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        behind = scan.progress_us - scan.values == (self._query.retention_us or 0)
        late = behind & (scan.progress_us > scan.values)
        return super().assign(replace(scan, progress_us=scan.progress_us + late))


# An outer join that looks only in the newest batch for a record's partner. How one gets it:
# "unmatched" is a flag of the batch, not of the state.
@planted("outer_row_although_paired", "deterministic", shows_in=some_join(outer))
class ForgetfulShardPart(JoinShardPart):
    def _alone(self, side: Side, moved: _SideRecords, pairs: pl.DataFrame) -> list[pl.DataFrame]:
        place = [f"{side}:partition", f"{side}:offset"]
        due = pl.col("due").is_between(moved.since, moved.until, closed="right")
        records = moved.sides[side].with_columns(due=self._due_alone(side, f"{side}:"))
        alone = records.filter(due).join(pairs.select(place), on=place, how="anti")
        return [self._rows.of(alone, retracts=False)]


# An outer join that keeps an unmatched row when a late partner comes. How one gets it: outer rows
# are final once the watermark has passed, but late pairs are emitted.
@planted("outer_row_never_taken_back", "deterministic", shows_in=some_join(outer, updates))
class StubbornShardPart(JoinShardPart):
    def _alone(self, side: Side, moved: _SideRecords, pairs: pl.DataFrame) -> list[pl.DataFrame]:
        sent: Sequence[pl.DataFrame] = super()._alone(side, moved, pairs)
        return [sent[0]]


# An outer join that emits an unmatched row while an on-time partner may still come. How one gets
# it: `ts + window` instead of the instant after it.
@planted("outer_row_too_early", "deterministic, closing", shows_in=some_join(outer))
class HastyShardPart(JoinShardPart):
    def _due_alone(self, side: Side, prefix: str = "") -> pl.Expr:
        if not self._reach[side]:
            return super()._due_alone(side, prefix)
        due, instant = super()._due_alone(side, prefix), pl.col(f"{prefix}instant")
        return pl.when(due > instant).then(due - 1).otherwise(due)


# A join over policy windows that stores its windows without what was matched. How one gets it: a
# snapshot of the windows, and none of the operator's own marks.
@planted("policy_join_forgets_partners", "deterministic", shows_in=some_policy_join(outer))
class UnmarkedShardPart(PolicyJoinShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept = super().retained(tables, after)
        forgotten = {
            side: kept[side].with_columns(pl.col(MATCHED) & False)
            for side in SIDES
            if MATCHED in kept[side].columns
        }
        return kept | forgotten


def of_equal_fields(_: Pipeline, join: PolicyJoinQuery) -> bool:
    return bool(join.on)


# A join over policy windows that pairs records whose equal fields are null. How one gets it: a
# hash table whose keys may be None.
@planted(
    "policy_join_null_matches_null",
    "deterministic",
    at="windowing.engine.rows.join_part:Course",
    shows_in=some_policy_join(of_equal_fields),
)
class NullCourse(Course):
    def _matches(self, left: Tuple, right: Tuple) -> bool:
        known = {name: 0 for name in self._query.on if left[name] is None}
        return super()._matches({**left, **known}, right)


def shared(_: Pipeline, join: PolicyJoinQuery) -> bool:
    """Whether partitions meet in one shard, and their fields need not be equal."""
    return bool(join.partitions) and not join.partitions.keys() <= join.on.keys()


# A join over policy windows that probes partitions of other keys. How one gets it: the published
# library does so, where partitions only bound what is stored.
@planted(
    "policy_join_probes_all_partitions",
    "deterministic",
    at="windowing.engine.rows.join_part:Course",
    shows_in=some_policy_join(shared),
)
class WideCourse(Course):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._join._own_key_only = False


# A join over policy windows that takes the right record first where times are equal. How one gets
# it: two sorted streams, merged with the wrong one preferred.
@planted("policy_join_right_first", "deterministic", shows_in=some_policy_join())
class RightFirstShardPart(PolicyJoinShardPart):
    def _courses(self, tables: Tables) -> list[Course]:
        self._ranks = {lane: -lane for lane in self._ranks}
        return super()._courses(tables)
