"""Joins: lanes send single records; shards build pairs, and rows of lone records.

An on-time record is delivered right after its own time, when progress has passed all records of the
same time; a late one at its late epoch.

A pair is due at the later instant of its two records. A record of a kept side is due to be sent
alone once no on-time record within its reach can come; a later pair retracts that row. All of this
follows from the records and the movement of progress (ADR 8); a record stays as long as any of
these may need it.

Source: SAMZA-552, "Join operator"; outer joins, lateness by lane and late epochs are ours (ADR 1
and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.columns import AT, INSTANT, IS_LATE, OFFSET, PARTITION, field_column
from windowing.engine.progress.reached import Progress
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.wids import ENDED, Flags, Ints
from windowing.engine.windows.chains import later
from windowing.engine.windows.evaluation import past_end
from windowing.engine.windows.join_rows import SIDES, PairRows, prefixed, side_column
from windowing.engine.windows.part import Outcome, Scan, Tables, outcome_of
from windowing.model import Pipeline
from windowing.model.join import Comparison, Operand, Side
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.query import JoinQuery

_COMPARE: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    "=": pl.Expr.eq,
    "!=": pl.Expr.ne,
    ">=": pl.Expr.ge,
    ">": pl.Expr.gt,
}


def equal_columns(query: JoinQuery) -> list[str]:
    """The columns that both sides' tables have, for what one shard has all of."""
    return [field_column(name) for name in query.sharded_by]


def needed_columns(
    query: JoinQuery, side: Side, records: pl.DataFrame, at: Ints
) -> list[pl.Series]:
    """Return what rows and conditions need of records, as `left.x` or `right.x`.

    Args:
        at: their event times.
    """
    fields = query.source(side).fields
    return [
        (records[field_column(name)] if name in fields else pl.Series(at)).alias(f"{side}.{name}")
        for name in query.needed(side)
    ]


def needed_types(query: JoinQuery, side: Side) -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the types of these columns."""
    operands = (Operand(side, name) for name in query.needed(side))
    return {one.name: dtype_of(query.type_of(one)) for one in operands}


class JoinLanePart:
    """The records of the lane's side.

    A record has the columns for equality, `at` (its time), `instant`, `late`, `offset`, and the
    fields that rows and conditions need, as `left.x` or `right.x`.

    Attributes:
        route: the columns that must be equal; without any, all records go to one shard.
    """

    def __init__(self, query: JoinQuery, pipeline: Pipeline) -> None:
        self._query, self._source = query, pipeline.source
        self.route = self._equal = equal_columns(query)

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Split the records into on-time, late, and refused."""
        at, progress_us = scan.values, scan.progress_us
        late = progress_us > at
        taken, instant = ~late, np.where(at >= ENDED, ENDED, np.minimum(at, ENDED - 1) + 1)
        if self._query.late.policy == "update":
            assert self._query.late.every_us is not None  # noqa: S101 - `update` has it
            taken = taken | self._taken_late(scan)
            release = wids.release_us(progress_us, self._query.late.every_us)
            instant = np.where(late, release, instant)
        outcome = outcome_of(self._query, scan, taken, ~taken)
        return outcome, self._tables(scan, taken, instant, late)

    def _taken_late(self, scan: Scan) -> Flags:
        """Return which records are taken although they are late."""
        assert self._query.retention_us is not None  # noqa: S101 - `update` has it
        behind = min(self._query.retention_us, INT64_MAX)
        return wids.lowered(scan.progress_us, behind) <= scan.values

    def _tables(self, scan: Scan, taken: Flags, instant: Ints, late: Flags) -> Tables:
        query, (source, _) = self._query, self._source.place(scan.partition)
        own, records = query.side_of(source.topic), scan.data.filter(pl.Series(taken))
        tables = {side: pl.DataFrame(schema=self._schema(side)) for side in SIDES}
        tables[own] = pl.DataFrame(
            [
                *(
                    records[field_column(name)].alias(equal)
                    for name, equal in zip(query.shard_fields(own), self._equal, strict=True)
                ),
                pl.Series(AT, scan.values[taken]),
                pl.Series(INSTANT, instant[taken]),
                pl.Series(IS_LATE, late[taken]),
                records[OFFSET],
                *needed_columns(query, own, records, scan.values[taken]),
            ]
        )
        return dict(tables.items())

    def _schema(self, side: Side) -> dict[str, pl.DataType | type[pl.DataType]]:
        query = self._query
        types = query.source(side).fields
        equal = zip(query.shard_fields(side), self._equal, strict=True)
        return {
            **{name: dtype_of(types[field]) for field, name in equal},
            **{AT: pl.Int64, INSTANT: pl.Int64, IS_LATE: pl.Boolean, OFFSET: pl.Int64},
            **needed_types(query, side),
        }

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return when each record is delivered."""
        return table[INSTANT].to_numpy()


@dataclass(frozen=True)
class _SideRecords:
    """Records of both sides, and the movement of progress.

    Attributes:
        sides: their records, with columns named by side.
        since, until: the two instants; records delivered between them are new.
    """

    sides: Mapping[Side, pl.DataFrame]
    since: int
    until: int

    def old(self, side: Side) -> pl.DataFrame:
        """Return the records delivered before."""
        return self.sides[side].filter(pl.col(side_column(side, INSTANT)) <= self.since)

    def new(self, side: Side) -> pl.DataFrame:
        """Return the records delivered since."""
        instant = pl.col(side_column(side, INSTANT))
        return self.sides[side].filter(instant > self.since, instant <= self.until)


class JoinShardPart:
    """The rows of a join.

    Besides the usual columns, rows have `at_last` and `gap`, whose sum is the end of their extent.
    """

    def __init__(self, query: JoinQuery, pipeline: Pipeline) -> None:
        self._query, self._rows = query, PairRows(query, pipeline.source)
        self._equal = equal_columns(query)
        self._reach = {side: query.reach(side) for side in SIDES}

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        since, until = (int(p.of(tables["left"])[0]) for p in (before, after))
        sides = {side: prefixed(tables[side], side) for side in SIDES}
        moved = _SideRecords(sides, since, until)
        pairs = self._new_pairs(moved)
        found = [self._rows.of(pairs, retracts=False)]
        for side in SIDES:
            if self._query.keeps(side):
                found += self._alone(side, moved, pairs)
        rows = pl.concat(found, how="diagonal")
        return rows if len(rows) else pl.DataFrame()

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a record is delivered, or due to be sent alone."""
        until = int(after.of(tables["left"])[0])
        due = [ENDED]
        for side in SIDES:
            instants = [tables[side][INSTANT]]
            if self._query.keeps(side):
                alone = self._due_alone(side)
                instants.append(tables[side].select(due=alone)["due"])
            due += [int(i) for s in instants if (i := s.filter(s > until).min()) is not None]  # type: ignore[arg-type]
        return min(due)

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return when each record is delivered: no row has it, or depends on it, before."""
        del name
        return table[INSTANT].to_numpy()

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return the records that a row after this progress may need."""
        until = int(after.of(tables["left"])[0])
        if None in self._reach.values():
            kept = pl.lit(until < ENDED)
        else:
            # A late record's partner may have been sent alone, which its own partners decide: keep
            # twice the reach, plus the allowed lateness.
            longest = max(reach for reach in self._reach.values() if reach is not None)
            behind = min(2 * longest + past_end(self._query) + 1, ENDED)
            stays = later(pl.col(AT), pl.lit(behind, dtype=pl.Int64))
            kept = pl.max_horizontal(stays, INSTANT) >= until
            kept &= pl.lit(until < ENDED)
        order = [AT, PARTITION, OFFSET]
        return {side: tables[side].filter(kept).sort(order) for side in SIDES}

    def _new_pairs(self, moved: _SideRecords) -> pl.DataFrame:
        left, right = moved.new("left"), moved.new("right")
        pairs = [
            self._match(left, pl.concat([moved.old("right"), right])),
            self._match(moved.old("left"), right),
        ]
        return pl.concat(pairs)

    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Return all pairs of some records, with the `instant` at which each is due."""
        bounds = self._bounds()
        if self._equal:
            pairs = left.join(right, on=self._equal, how="inner").filter(*bounds)
        elif bounds:
            # By range conditions on sorted columns, not by a cross join.
            pairs = left.join_where(right, *bounds)
        else:
            pairs = left.join(right, how="cross")
        instant = pl.max_horizontal(side_column("left", INSTANT), side_column("right", INSTANT))
        return pairs.filter(*map(condition, self._query.where)).with_columns(instant.alias(INSTANT))

    def _bounds(self) -> list[pl.Expr]:
        """Return the range of the left record's times for a right one, if there are windows."""
        at, right_at = (pl.col(side_column(side, AT)) for side in SIDES)
        bounds = list[pl.Expr]()
        if (back := self._reach["right"]) is not None:
            least = pl.lit(INT64_MIN, dtype=pl.Int64)
            first = pl.when(at < INT64_MIN + back).then(least).otherwise(at - back)
            bounds.append(right_at >= first)
        if (ahead := self._reach["left"]) is not None:
            bounds.append(right_at <= later(at, pl.lit(ahead, dtype=pl.Int64)))
        return bounds

    def _due_alone(self, side: Side, prefix: str = "") -> pl.Expr:
        """Return when a record is due to be sent alone: any later partner is late."""
        reach = self._reach[side]
        if reach is None:
            return pl.lit(ENDED, dtype=pl.Int64)
        at = later(pl.col(prefix + AT), pl.lit(min(reach + 1, ENDED), dtype=pl.Int64))
        return pl.max_horizontal(at, prefix + INSTANT)

    def _alone(self, side: Side, moved: _SideRecords, pairs: pl.DataFrame) -> list[pl.DataFrame]:
        """Return rows of a side's records without a partner, and their retractions."""
        place = [side_column(side, PARTITION), side_column(side, OFFSET)]
        records = moved.sides[side].with_columns(due=self._due_alone(side, side_column(side, "")))
        paired = records.join(pairs.select(place).unique(), on=place, how="semi")
        asked = pl.col("due").is_between(moved.since, moved.until, closed="right")
        records = pl.concat([records.filter(asked), paired]).unique(place)
        # Earlier pairs of these records.
        other: Side = "right" if side == "left" else "left"
        old = {side: records.filter(pl.col(side_column(side, INSTANT)) <= moved.since).drop("due")}
        old[other] = moved.old(other)
        known = self._match(old["left"], old["right"])
        first = pl.concat([pairs, known]).group_by(place).agg(paired=pl.col(INSTANT).min())
        records = records.join(first, on=place, how="left")
        unpaired = pl.col("paired").is_null() | (pl.col("paired") > pl.col("due"))
        records = records.filter(unpaired, pl.col("due") <= moved.until)
        sent = records.filter(pl.col("due") > moved.since)
        back = records.filter(pl.col("paired") > moved.since)
        return [self._rows.of(sent, retracts=False), self._rows.of(back, retracts=True)]


def condition(comparison: Comparison) -> pl.Expr:
    """Return whether a comparison of the columns `left.x` and `right.x` holds."""
    second = comparison.second
    other = pl.col(second.name) if isinstance(second, Operand) else pl.lit(second)
    return _COMPARE[comparison.operator](pl.col(comparison.first.name), other)
