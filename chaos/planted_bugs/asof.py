"""Defects of as-of joins: which right record is the newest, what is taken back, what is kept."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import some_asof, updates
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import ASOF_JOIN, Wish
from windowing.engine.columns import AT, INSTANT, IS_LATE, OFFSET, PARTITION, REVISION
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.asof import _BEFORE, AsofLanePart, AsofShardPart, _Matches
from windowing.engine.windows.join import JoinLanePart
from windowing.engine.windows.part import Scan, Tables
from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Pipeline

_WISH = Wish(classes=(ASOF_JOIN,))


def of_equal_keys(_: Pipeline, join: AsofQuery) -> bool:
    """Something must be equal."""
    return bool(join.on)


def of_several_right_lanes(_: Pipeline, join: AsofQuery) -> bool:
    return join.sources[1].partitions > 1


# A price of the very instant of a trade does not count. How one gets it: "before" read as `<`, or a
# merge of two streams in which the left one goes first.
@planted("asof_equal_times_miss", "deterministic", shows_in=some_asof(), wish=_WISH)
class BeforeShardPart(AsofShardPart):
    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        with patch.object(self, "_within", self._within - 1):
            return super()._matches(left, right.with_columns(pl.col(AT) + 1))


# Of several prices of one instant the first counts. How one gets it: a sort that is not told what
# to do with equal times, descending.
@planted("asof_first_of_a_tie", "deterministic", shows_in=some_asof(), wish=_WISH)
class FirstShardPart(AsofShardPart):
    def _ordered(self, right: pl.DataFrame) -> pl.DataFrame:
        return right.sort(AT, PARTITION, OFFSET, descending=[False, True, True])


# Of several prices of one instant the one with the largest offset counts, whatever its partition.
# How one gets it: offsets are compared across partitions.
@planted(
    "asof_tie_by_offset_alone",
    "deterministic",
    shows_in=some_asof(of_several_right_lanes),
    wish=_WISH,
)
class OffsetShardPart(AsofShardPart):
    def _ordered(self, right: pl.DataFrame) -> pl.DataFrame:
        return right.sort(AT, OFFSET, PARTITION)


# A price exactly `within` old is too old. How one gets it: half-open, as windows are.
@planted("asof_within_is_exclusive", "deterministic", shows_in=some_asof(), wish=_WISH)
class ShortShardPart(AsofShardPart):
    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        with patch.object(self, "_within", self._within - 1):
            return super()._matches(left, right)


_NULL = "\x00null"


# Null keys are equal. How one gets it: a search by key over columns in which null is a value.
@planted("asof_null_matches_null", "deterministic", shows_in=some_asof(of_equal_keys), wish=_WISH)
class NullShardPart(AsofShardPart):
    def _matching(self, right: pl.DataFrame) -> pl.DataFrame:
        return right

    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        text = [name for name in self._equal if left.schema[name] == pl.String]
        named = [side.with_columns(pl.col(text).fill_null(_NULL)) for side in (left, right)]
        return super()._matches(*named)


# A late price changes nothing once the row is there. How one gets it: rows are final when they are
# due, as in other systems.
@planted("asof_late_price_ignored", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class FinalShardPart(AsofShardPart):
    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        matches = super()._matches(left, right)
        sent = matches.left.select("left number", due=INSTANT)
        late = matches.late.join(sent, on="left number").filter(pl.col(INSTANT) == pl.col("due"))
        return replace(matches, late=late.drop("due"))


# A late price changes the newest trade only. How one gets it: one row of each key is remembered, to
# be revised.
@planted("asof_one_row_revised", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class LastShardPart(AsofShardPart):
    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        matches = super()._matches(left, right)
        last = matches.late.sort("left number").unique("right number", keep="last")
        return replace(matches, late=last)


# A late price counts for all trades after it, although a newer one lies between. How one gets it:
# late records overwrite.
@planted("asof_late_price_wins", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class WinningShardPart(AsofShardPart):
    def _ordered(self, right: pl.DataFrame) -> pl.DataFrame:
        return right.sort(IS_LATE, AT, PARTITION, OFFSET)

    def _late(
        self, left: pl.DataFrame, by_time: pl.DataFrame, on_time: pl.DataFrame, late: pl.DataFrame
    ) -> pl.DataFrame:
        return super()._late(left, by_time, on_time.clear(), late)


# The row with the older price is never taken back. How one gets it: the new row is thought to
# replace it, and its key names another price.
@planted("asof_retraction_missing", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class StubbornShardPart(AsofShardPart):
    def _built(
        self, left: pl.DataFrame, right: pl.DataFrame, history: pl.DataFrame
    ) -> pl.DataFrame:
        unknown = pl.lit(None, dtype=pl.Int64).alias(_BEFORE)
        return super()._built(left, right, history.with_columns(unknown))


# Every later row has revision 1. How one gets it: other joins know on time and late, and no third.
@planted("asof_revisions_are_not_counted", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class TwoShardPart(AsofShardPart):
    def _built(
        self, left: pl.DataFrame, right: pl.DataFrame, history: pl.DataFrame
    ) -> pl.DataFrame:
        return super()._built(
            left, right, history.with_columns(pl.col(REVISION).clip(upper_bound=1))
        )


# Prices older than what may still change are dropped, also the newest of a key. How one gets it:
# state is purged at a watermark, as for joins with two windows.
@planted("asof_newest_of_a_key_purged", "deterministic", shows_in=some_asof(), wish=_WISH)
class PurgingShardPart(AsofShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept = super().retained(tables, after)
        ahead = pl.max_horizontal(AT, INSTANT) >= after.highest
        return kept | {"right": kept["right"].filter(ahead)}


# Trades are forgotten once their rows are sent. How one gets it: it is right without late prices.
@planted("asof_sent_is_forgotten", "deterministic", shows_in=some_asof(updates), wish=_WISH)
class ForgetfulShardPart(AsofShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept = super().retained(tables, after)
        return kept | {"left": kept["left"].filter(pl.col(INSTANT) > after.highest)}


# A trade whose row was due when it came gets none. How one gets it: rows are sent as progress moves
# over their instants.
@planted("asof_left_behind_gets_no_row", "deterministic", shows_in=some_asof(), wish=_WISH)
class MovingShardPart(AsofShardPart):
    def rows_of_step(
        self, tables: Tables, arrived: Tables, before: Progress, after: Progress
    ) -> pl.DataFrame:
        del arrived
        return super().rows_of_step(tables, {}, before, after)


# A late price is taken for the retention only. How one gets it: as in other joins; but the trade
# that it is the price of may be younger.
@planted(
    "asof_late_price_refused_as_a_trade",
    "dead letters, conservation",
    shows_in=some_asof(updates),
    wish=_WISH,
)
class HurriedLanePart(AsofLanePart):
    def _taken_late(self, scan: Scan) -> Flags:
        return JoinLanePart._taken_late(self, scan)


# A row is due when progress reaches its time, not when it has passed it. How one gets it: one
# character; prices of that instant may still come.
@planted("asof_due_at_its_time", "deterministic, closing", shows_in=some_asof(), wish=_WISH)
class HastyLanePart(AsofLanePart):
    def _tables(self, scan: Scan, taken: Flags, instant: Ints, late: Flags) -> Tables:
        source, _ = self._source.place(scan.partition)
        if self._query.side_of(source.topic) == "left":
            instant = np.where(late, instant, instant - 1)
        return super()._tables(scan, taken, instant, late)
