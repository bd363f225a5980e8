"""Defects of window joins: which window, who is late for it, who is alone; and computed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import consistent, outer, some_flow, some_window_join, updates
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import JOIN, WINDOW_JOIN, Wish
from windowing.engine.columns import LAST_WINDOW, OFFSET, OVERFLOW, PARTITION, WINDOW_ID
from windowing.engine.progress.reached import Progress
from windowing.engine.reading.expressions.program import Evaluated
from windowing.engine.wids import Ints
from windowing.engine.windows.join_rows import SIDES, side_column
from windowing.engine.windows.pair_values import PairValues
from windowing.engine.windows.part import Outcome, Scan, Tables
from windowing.engine.windows.window_join import WindowJoinLanePart, WindowJoinShardPart, _Met
from windowing.model.file.pipeline import Pipeline
from windowing.model.join import Side
from windowing.model.pair_values import PairExpression
from windowing.model.query import Flow, JoinQuery
from windowing.model.window_join import WindowJoinQuery

_WISH = Wish(classes=(WINDOW_JOIN,))
_LANE = "deterministic, dead letters, conservation"
_PLACES = [side_column(side, name) for side in SIDES for name in (PARTITION, OFFSET)]


def of_equal_keys(_: Pipeline, join: WindowJoinQuery) -> bool:
    """Something must be equal."""
    return bool(join.on)


def overlapping(_: Pipeline, join: WindowJoinQuery) -> bool:
    """A record lies in several windows."""
    return (join.over.range_ or 0) > join.over.slide


# A record at the very end of a window is in it, and not in the next. How one gets it: a range of
# times taken from two systems, one of which closes its intervals.
@planted("window_join_end_is_inside", _LANE, shows_in=some_window_join(), wish=_WISH)
class ClosedLanePart(WindowJoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        return super().assign(replace(scan, values=scan.values - 1))


# A record behind its lane's progress is late, although its window is open. How one gets it: the
# rule of joins by distance.
@planted("window_join_late_by_its_own_time", _LANE, shows_in=some_window_join(), wish=_WISH)
class HastyLanePart(WindowJoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        last = self._numbering.ends(self._numbering.last(scan.values))
        behind = scan.progress_us > scan.values
        progress_us = np.where(behind, np.maximum(scan.progress_us, last), scan.progress_us)
        return super().assign(replace(scan, progress_us=progress_us))


# A record that is late for its first window is on time for those still open, although `consistent`
# says otherwise. How one gets it: the mode is read by queries, and joins are forgotten.
@planted(
    "window_join_consistent_is_generous",
    _LANE,
    shows_in=some_window_join(consistent, overlapping),
    wish=_WISH,
)
class GenerousLanePart(WindowJoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        query = self._query
        late = query.late.model_copy(update={"mode": "generous"})
        self._query = query.model_copy(update={"late": late})
        found = super().assign(scan)
        self._query = query
        return found


# A window takes a record exactly a retention after its end. How one gets it: one character.
@planted(
    "window_join_retention_edge",
    "dead letters, conservation, deterministic",
    shows_in=some_window_join(updates),
    wish=_WISH,
)
class PatientLanePart(WindowJoinLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        query = self._query
        longer = {"retention_us": (query.retention_us or 0) + 1}
        self._query = query.model_copy(update=longer)
        found = super().assign(scan)
        self._query = query
        return found


# A late record finds only partners that got into its window in the same step. How one gets it: the
# window's records are thrown away once its rows are sent.
@planted(
    "window_join_late_finds_nobody",
    "deterministic",
    shows_in=some_window_join(updates),
    wish=_WISH,
)
class ForgetfulShardPart(WindowJoinShardPart):
    def _met(self, side: Side, table: pl.DataFrame, windows: Ints, since: int, until: int) -> _Met:
        met = super()._met(side, table, windows, since, until)
        return _Met(met.old.clear(), met.new)


# Pairs of two new records are found from both sides. How one gets it: both sides are stored before
# either is looked up.
@planted("window_join_pairs_twice", "exactly once", shows_in=some_window_join(), wish=_WISH)
class SymmetricShardPart(WindowJoinShardPart):
    def _met(self, side: Side, table: pl.DataFrame, windows: Ints, since: int, until: int) -> _Met:
        met = super()._met(side, table, windows, since, until)
        return _Met(met.all, met.new) if side == "left" else met


# A pair has a row in the first of the windows that end together, and in no other. How one gets it:
# "a pair is sent once", as in joins by distance.
@planted(
    "window_join_pair_once",
    "deterministic",
    shows_in=some_window_join(overlapping),
    wish=_WISH,
)
class ThriftyShardPart(WindowJoinShardPart):
    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        return super()._match(left, right).sort(WINDOW_ID).unique(_PLACES, keep="first")


_NULL = "\x00null"


# Null keys are equal. How one gets it: a hash join over columns in which null is a value.
@planted(
    "window_join_null_matches_null",
    "deterministic",
    shows_in=some_window_join(of_equal_keys),
    wish=_WISH,
)
class NullShardPart(WindowJoinShardPart):
    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        text = [name for name in self._equal if left.schema[name] == pl.String]
        named = [side.with_columns(pl.col(text).fill_null(_NULL)) for side in (left, right)]
        back = [pl.when(pl.col(n) == _NULL).then(None).otherwise(pl.col(n)).alias(n) for n in text]
        return super()._match(*named).with_columns(back)


# Records are kept until their last window ends, whatever comes late for it. How one gets it: state
# is purged by the watermark.
@planted(
    "window_join_forgets_at_the_end",
    "deterministic",
    shows_in=some_window_join(updates),
    wish=_WISH,
)
class TidyShardPart(WindowJoinShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept, until = super().retained(tables, after), int(after.of(tables["left"])[0])
        open_ = pl.col(LAST_WINDOW) > self._ended(until)
        return {side: kept[side].filter(open_) for side in SIDES}


# That a record was alone is never taken back. How one gets it: outer rows are final once the window
# has ended, and late pairs are sent.
@planted(
    "window_join_never_takes_back",
    "deterministic",
    shows_in=some_window_join(outer, updates),
    wish=_WISH,
)
class StubbornShardPart(WindowJoinShardPart):
    def _alone(
        self, side: Side, met: dict[Side, _Met], pairs: pl.DataFrame, since: int
    ) -> list[pl.DataFrame]:
        return super()._alone(side, met, pairs, since)[:1]


# A record that has a partner is taken back as alone when it gets another, late one. How one gets
# it: whether it was alone is asked of the newest pairs only.
@planted(
    "window_join_takes_back_a_pair",
    "deterministic",
    shows_in=some_window_join(outer, updates),
    wish=_WISH,
)
class EagerShardPart(WindowJoinShardPart):
    def _alone(
        self, side: Side, met: dict[Side, _Met], pairs: pl.DataFrame, since: int
    ) -> list[pl.DataFrame]:
        newest = {one: _Met(met[one].old.clear(), met[one].new) for one in SIDES}
        return super()._alone(side, newest | {side: met[side]}, pairs, since)


def with_expressions(_: Pipeline, flow: Flow) -> bool:
    """Rows show something that is computed of both records."""
    return isinstance(flow, JoinQuery) and bool(flow.expressions)


_COMPUTED = Wish(classes=(JOIN, WINDOW_JOIN))


# A row does not say that an expression has no value for its pair. How one gets it: a null is a
# null, whyever.
@planted(
    "pair_value_unmarked",
    "deterministic",
    shows_in=some_flow(with_expressions),
    wish=_COMPUTED,
)
class UnmarkedPairValues(PairValues):
    def of(self, records: pl.DataFrame, there: Sequence[Side]) -> list[pl.Series]:
        found = super().of(records, there)
        marks = pl.repeat(None, len(records), dtype=pl.List(pl.String), eager=True)
        return [*found[:1], *([marks.alias(OVERFLOW)] if len(found) > 1 else [])]


# What is computed is null without a partner, whatever the expression says of nulls. How one gets
# it: lone records have rows of their own, which compute nothing.
@planted(
    "pair_value_null_without_a_partner",
    "deterministic",
    shows_in=some_flow(with_expressions),
    wish=_COMPUTED,
)
class LonePairValues(PairValues):
    def _evaluated(
        self, one: PairExpression, records: pl.DataFrame, there: Sequence[Side]
    ) -> Evaluated:
        found = super()._evaluated(one, records, there)
        if len(there) == len(SIDES):
            return found
        return Evaluated(found.values.clear(len(records)), found.failed)
