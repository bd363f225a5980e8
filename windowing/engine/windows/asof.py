"""As-of joins: shards keep both sides' records, and look up the newest right one for each left.

On-time right records are there before any row needs them, so that the first row of most left
records is one sorted search per key. A late right record is of use to the left records between it
and the next on-time one, which are a range of the sorted left ones: so these searches cost as much
as they find. All rows of a left record follow from the two (`_Matches`), and the movement of
progress decides which of them are sent.

Rows wait for the right side only: a left record may come when its row has long been due
(`windowing.engine.windows.part.SeesArrivals`). What is kept is in `AsofShardPart.retained`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import (
    AT,
    INSTANT,
    IS_LATE,
    OFFSET,
    PARTITION,
    RETRACTS,
    REVISION,
)
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.progress.clock import clock_by
from windowing.engine.progress.reached import Progress, ProgressOfLanes
from windowing.engine.wids import ENDED, Flags, Ints
from windowing.engine.windows.chains import later
from windowing.engine.windows.evaluation import NEWEST, ONE_BY_ONE, past_end
from windowing.engine.windows.join import JoinLanePart, equal_columns
from windowing.engine.windows.join_rows import SIDES, PairRows, prefixed
from windowing.engine.windows.part import Scan, Tables
from windowing.model import Pipeline
from windowing.model.asof import AsofQuery
from windowing.model.lengths import INT64_MIN

# Numbers of a left and of a right record; no right record is NOBODY.
_LEFT, _RIGHT, _BEFORE = "left number", "right number", "right number before"
_NOBODY = -1
_FIRST, _LAST, _UNTIL = "first number", "last number", "at until"


class AsofLanePart(JoinLanePart):
    """The records of the lane's side, as for any join; right ones are taken longer."""

    _query: AsofQuery

    def _taken_late(self, scan: Scan) -> Flags:
        source, _ = self._source.place(scan.partition)
        if self._query.side_of(source.topic) == "left":
            return super()._taken_late(scan)
        # Of use to left records until `within` after it, which take it for the retention.
        useful = self._query.right + (self._query.retention_us or 0)
        return wids.lowered(scan.progress_us, useful - 1) <= scan.values


class AsofShardPart:
    """The rows of an as-of join, with the columns of other joins' rows."""

    def __init__(self, query: AsofQuery, pipeline: Pipeline) -> None:
        self._rows = PairRows(query, pipeline.source)
        self._equal, self._within = equal_columns(query), query.right
        self._updates = query.late.policy == "update"
        # How long after its time a late left record may come, and be released.
        self._late_for = past_end(query) if self._updates else 0

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves, of records that were there before."""
        return self.rows_of_step(tables, {}, before, after)

    def rows_of_step(
        self, tables: Tables, arrived: Tables, before: Progress, after: Progress
    ) -> pl.DataFrame:
        """Return the rows due while progress moves, and those that were due before."""
        since, until = before.highest, after.highest
        there = pl.col(INSTANT) <= until
        left = tables["left"].filter(there).sort(*self._equal, AT, PARTITION, OFFSET)
        right = self._ordered(self._matching(tables["right"]).filter(there))
        matches = self._matches(left, right)
        is_new = (left[INSTANT] > since).to_numpy() | _are_among(left, arrived.get("left"))
        changed = matches.late.filter(pl.col(INSTANT) > since)[_LEFT].to_numpy()
        asked = is_new.copy()
        asked[changed] = True
        history = matches.history(asked)
        due = is_new[history[_LEFT].to_numpy()] | (history[INSTANT] > since).to_numpy()
        return self._built(left, right, history.filter(pl.Series(due, dtype=pl.Boolean)))

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a left record is due, or may change."""
        until, due = after.highest, [ENDED]
        for waiting in (tables["left"], tables["right"].filter(IS_LATE)):
            instants = waiting[INSTANT]
            due += [int(i) for i in [instants.filter(instants > until).min()] if i is not None]  # type: ignore[arg-type]
        return min(due)

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return when each record is delivered: no row has it, or depends on it, before."""
        del name
        return table[INSTANT].to_numpy()

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return the records that a row after this progress may need.

        These are left records that are not due yet or may change, and right records within their
        reach, of which those older than all such left records count only if they are the newest of
        their key.
        """
        assert isinstance(after, ProgressOfLanes)  # noqa: S101 - as its plan says
        until, stream = after.highest, after.stream.stream_us
        if stream == ENDED:
            return {side: tables[side].clear() for side in SIDES}
        kept = pl.col(INSTANT) > until
        oldest = stream - self._late_for
        if self._updates and until < ENDED:
            changes = self._within + self._late_for
            kept |= later(pl.col(AT), pl.lit(min(changes, ENDED), dtype=pl.Int64)) > until
            oldest = min(oldest, until - changes)
        left, right = tables["left"].filter(kept), self._matching(tables["right"])
        bound = pl.lit(max(oldest, INT64_MIN), dtype=pl.Int64)
        ahead = pl.max_horizontal(AT, INSTANT) > bound
        reach = later(pl.col(AT), pl.lit(self._within, dtype=pl.Int64))
        order = [AT, PARTITION, OFFSET]
        passed = right.filter(~ahead).sort(order)
        newest = passed.unique(self._equal, keep="last") if self._equal else passed.tail(1)
        right = pl.concat([right.filter(ahead), newest.filter(reach >= bound)])
        return {"left": left.sort(order), "right": right.sort(order)}

    def _matching(self, right: pl.DataFrame) -> pl.DataFrame:
        """Return the right records that equal something: those without null among their keys."""
        return right.drop_nulls(self._equal) if self._equal else right

    def _ordered(self, right: pl.DataFrame) -> pl.DataFrame:
        """Return right records from the oldest to the newest."""
        return right.sort(AT, PARTITION, OFFSET)

    def _matches(self, left: pl.DataFrame, right: pl.DataFrame) -> _Matches:
        """Find what each left record may be matched with.

        Args:
            left: sorted by key and time.
            right: sorted by time, lane and offset.
        """
        left = left.select(*self._equal, AT, INSTANT, IS_LATE).with_row_index(_LEFT)
        right = right.select(*self._equal, AT, INSTANT, IS_LATE).with_row_index(_RIGHT)
        left, right = (
            f.with_columns(pl.col(n).cast(pl.Int64)) for f, n in ((left, _LEFT), (right, _RIGHT))
        )
        by = self._equal or None
        on_time = right.filter(~pl.col(IS_LATE)).select(*self._equal, AT, _RIGHT)
        by_time = left.select(*self._equal, AT, _LEFT).sort(AT, _LEFT)
        first = by_time.join_asof(
            on_time.with_columns(pl.col(AT).alias(_UNTIL)), on=AT, by=by, check_sortedness=False
        ).select(
            _LEFT,
            pl.when(pl.col(_UNTIL) >= self._at_least(AT)).then(_RIGHT).alias(_RIGHT),
        )
        return _Matches(left, first, self._late(left, by_time, on_time, right.filter(IS_LATE)))

    def _late(
        self, left: pl.DataFrame, by_time: pl.DataFrame, on_time: pl.DataFrame, late: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the pairs of left records and late right ones, with when each pair is known.

        A late record counts up to the next younger one on time, and for `within` at most.
        """
        if not len(late):
            return pl.DataFrame(schema={_LEFT: pl.Int64, _RIGHT: pl.Int64, INSTANT: pl.Int64})
        by = self._equal or None
        reach = later(pl.col(AT), pl.lit(self._within, dtype=pl.Int64))
        following = late.join_asof(
            on_time.select(*self._equal, AT, pl.col(AT).alias(_UNTIL)),
            on=AT,
            by=by,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        ).with_columns(pl.min_horizontal(reach, pl.col(_UNTIL) - 1).alias(_UNTIL))
        numbered = by_time.select(*self._equal, AT, pl.col(_LEFT))
        found = following.join_asof(
            numbered.rename({_LEFT: _FIRST}),
            on=AT,
            by=by,
            strategy="forward",
            check_sortedness=False,
        )
        found = found.sort(_UNTIL).join_asof(
            numbered.rename({_LEFT: _LAST, AT: f"{AT} of left"}),
            left_on=_UNTIL,
            right_on=f"{AT} of left",
            by=by,
            check_sortedness=False,
        )
        pairs = (
            found.filter(pl.col(_FIRST) <= pl.col(_LAST))
            .select(
                pl.int_ranges(_FIRST, pl.col(_LAST) + 1).alias(_LEFT),
                _RIGHT,
                pl.col(INSTANT).alias("known"),
            )
            .explode(_LEFT)
        )
        own = left.select(_LEFT, INSTANT)
        return pairs.join(own, on=_LEFT).select(
            _LEFT, _RIGHT, pl.max_horizontal("known", INSTANT).alias(INSTANT)
        )

    def _at_least(self, at: str) -> pl.Expr:
        """Return the least time of a partner of a left record."""
        lowest = pl.lit(INT64_MIN, dtype=pl.Int64)
        below = pl.col(at) < INT64_MIN + self._within
        return pl.when(below).then(lowest).otherwise(pl.col(at) - self._within)

    def _built(
        self, left: pl.DataFrame, right: pl.DataFrame, history: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the rows of changes, in their order: each takes the one before it back."""
        back = history.filter(pl.col(_BEFORE).is_not_null()).select(
            _LEFT,
            pl.col(_BEFORE).alias(_RIGHT),
            INSTANT,
            pl.col(REVISION) - 1,
            pl.lit(value=True).alias(RETRACTS),
        )
        sent = history.select(_LEFT, _RIGHT, INSTANT, REVISION, pl.lit(value=False).alias(RETRACTS))
        every = pl.concat([sent, back])
        if not len(every):
            return pl.DataFrame()
        found = []
        for paired in (True, False):
            own = every.filter((pl.col(_RIGHT) != _NOBODY) == paired)
            records = prefixed(left, "left")[own[_LEFT]]
            if paired:
                partners = prefixed(right.drop(self._equal), "right")[own[_RIGHT]]
                records = pl.concat([records, partners], how="horizontal")
            rows = self._rows.of(records, retracts=False)
            found.append(rows.with_columns(own.select(_LEFT, INSTANT, REVISION, RETRACTS)))
        return pl.concat(found).sort(INSTANT, _LEFT, REVISION).drop(_LEFT, INSTANT)


@dataclass(frozen=True)
class _Matches:
    """What left records are matched with, in the course of time.

    Attributes:
        left: the left records, by number.
        first: each one's newest right record on time, within reach; null: none.
        late: pairs with late right records that may be newer, and the instant of each.
    """

    left: pl.DataFrame
    first: pl.DataFrame
    late: pl.DataFrame

    def history(self, asked: Flags) -> pl.DataFrame:
        """Return every row that left records have, each with the instant at which it is due.

        Args:
            asked: of which left records.
        """
        numbers = pl.DataFrame({_LEFT: np.flatnonzero(asked)}, schema={_LEFT: pl.Int64})
        own = self.left.select(_LEFT, pl.col(INSTANT), IS_LATE)
        first = self.first.join(numbers, on=_LEFT, how="semi").join(own, on=_LEFT)
        found = pl.concat(
            [
                first.select(_LEFT, pl.col(_RIGHT).fill_null(_NOBODY), INSTANT),
                self.late.join(numbers, on=_LEFT, how="semi"),
            ]
        ).sort(_LEFT, INSTANT, _RIGHT)
        # Right records are numbered from the oldest to the newest.
        newest = found.with_columns(pl.col(_RIGHT).cum_max().over(_LEFT)).unique(
            [_LEFT, INSTANT], keep="last", maintain_order=True
        )
        before = pl.col(_RIGHT).shift(1).over(_LEFT).alias(_BEFORE)
        changes = newest.with_columns(before).filter(
            pl.col(_BEFORE).is_null() | (pl.col(_BEFORE) != pl.col(_RIGHT))
        )
        number = pl.int_range(pl.len(), dtype=pl.Int64).over(_LEFT)
        return changes.join(
            own.select(_LEFT, IS_LATE), on=_LEFT, maintain_order="left"
        ).with_columns((number + pl.col(IS_LATE).cast(pl.Int64)).alias(REVISION))


def _are_among(records: pl.DataFrame, others: pl.DataFrame | None) -> Flags:
    """Return which records are among others, by their places."""
    if others is None or not len(others):
        return np.zeros(len(records), dtype=bool)
    place = [PARTITION, OFFSET]
    known = others.select(*place, pl.lit(value=True).alias("known"))
    marked = records.select(place).join(known, on=place, how="left", maintain_order="left")
    found: Flags = marked["known"].fill_null(value=False).to_numpy()
    return found


def plan_asof(query: AsofQuery, pipeline: Pipeline) -> FlowPlan[AsofQuery]:
    """Decide how an as-of join is run: its rows wait for the right side's lanes."""
    source = pipeline.source
    topics = [source.place(number)[0].topic for number in range(source.partitions)]
    waits_for = tuple(n for n, topic in enumerate(topics) if topic == query.waits_for_topic)
    return FlowPlan(
        query,
        AsofLanePart,
        AsofShardPart,
        replaces=False,
        evaluation=NEWEST,
        schema=StateSchema.of_records(),
        route=tuple(equal_columns(query)),
        clock=clock_by(query.attribute, source),
        whole=ONE_BY_ONE,
        waits_for=waits_for,
    )
