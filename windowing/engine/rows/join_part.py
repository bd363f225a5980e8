"""SPL's Join in a shard: the records of both sides, in canonical order.

State is the records that wait for progress, those that are stored in the windows and, of windows
with partition eviction, the partitions. Lanes send records as for any join. Before its rows, a step
repeats what happened since the state was last compacted: what is emitted while progress moves from
P to P' is a function of (state, P, P') alone (ADR 8).

Source: Gedik 2014, section 6.1.2; inside pipelines: ADR 22.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from windowing.engine.columns import AT, AT_FIRST, INSTANT, OFFSET, PARTITION, RECORDS, field_column
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.join_course import MATCHED, Course, MarkedRecord, arrivals_of, with_marks
from windowing.engine.rows.policies import Time
from windowing.engine.wids import ENDED
from windowing.engine.windows.chains import later
from windowing.engine.windows.join_rows import SIDES, PairRows, prefixed
from windowing.engine.windows.part import Tables
from windowing.model import Pipeline
from windowing.model.join import Side
from windowing.model.operators.join import PolicyJoinQuery

RANK: Final = "rank"
"""Of a partition: how many were updated before it."""


class PolicyJoinShardPart:
    """The rows of a join over policy windows.

    Rows have the columns of other joins' rows.
    """

    def __init__(self, query: PolicyJoinQuery, pipeline: Pipeline) -> None:
        self._query, self._rows = query, PairRows(query, pipeline.source)
        source = pipeline.source
        places = {
            number: (part.topic, partition)
            for number in range(source.partitions)
            for part, partition in [source.place(number)]
        }
        in_order = sorted(places, key=lambda number: places[number])
        self._ranks = {number: rank for rank, number in enumerate(in_order)}

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        sent = list[tuple[int | None, ...]]()
        for course in self._courses(tables):
            course.advance(before)
            course.sent.clear()
            course.advance(after)
            sent += course.sent
        found = [self._built(tables, there, sent) for there in ((0, 1), (0,), (1,))]
        rows = pl.concat(found)
        return rows if len(rows) else pl.DataFrame()

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a record arrives, or may leave its window alone."""
        until = int(after.of(tables["left"])[0])
        due = [ENDED]
        for side in SIDES:
            instants = [tables[side][INSTANT]]
            eviction = self._query.side_window(side).eviction
            if isinstance(eviction, Time) and self._query.keeps(side):
                period_us = pl.lit(min(eviction.period_us, ENDED - 1) + 1, dtype=pl.Int64)
                instants.append(tables[side].select(due=later(pl.col(AT), period_us))["due"])
            due += [int(i) for s in instants if (i := s.filter(s > until).min()) is not None]  # type: ignore[arg-type]
        return min(due)

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return the records that wait, and the content of the windows."""
        until = int(after.of(tables["left"])[0])
        if until == ENDED:
            return {side: tables[side].clear() for side in SIDES}
        courses = self._courses(tables)
        for course in courses:
            course.advance(after)
        kept: Tables = {}
        for side in SIDES:
            contents = [course.content(side) for course in courses]
            matched = {number: mark for marks, _ in contents for number, mark in marks.items()}
            partitions = [partition for _, those in contents for partition in those]
            records = with_marks(tables[side])
            waiting = records.filter(pl.col(MATCHED).is_null(), pl.col(INSTANT) > until)
            marks = pl.Series(MATCHED, [*matched.values()], dtype=pl.Boolean)
            stored = records[[*matched]].with_columns(marks)
            kept[side] = pl.concat([stored, waiting]).sort(AT, PARTITION, OFFSET)
            if self._query.side_window(side).partition_eviction is not None:
                kept[_partition_table(side)] = self._partitions(side, partitions, records)
        return kept

    def _courses(self, tables: Tables) -> list[Course]:
        """Return the join of each unit, as of the last compaction.

        Units are apart, because a unit's clock shows the time of its records.
        """
        units = dict[tuple[Any, ...], list[MarkedRecord]]()
        if not self._query.sharded_by:
            units[()] = []
        for port, side in enumerate(SIDES):
            fields = self._query.shard_fields(side)
            for placed in arrivals_of(self._query, tables[side], port, self._ranks):
                unit = tuple(placed[0].record[name] for name in fields)
                units.setdefault(unit, []).append(placed)
        known = {side: tables.get(_partition_table(side)) for side in SIDES}
        return [Course(self._query, records, known) for records in units.values()]

    def _partitions(
        self, side: Side, partitions: Sequence[Any], records: pl.DataFrame
    ) -> pl.DataFrame:
        names = self._query.side_window(side).partition_by
        schema: dict[str, pl.DataType | type[pl.DataType]] = {
            **{field_column(name): records.schema[f"{side}.{name}"] for name in names},
            **{RANK: pl.Int64, AT: pl.Int64, AT_FIRST: pl.Int64, RECORDS: pl.Int64},
        }
        rows = [
            (*key, rank, updated_us, created_us, inserts)
            for key, rank, updated_us, (_, created_us, inserts) in partitions
            if rank is not None  # a window of count(0) has partitions without records
        ]
        return pl.DataFrame(rows, schema, orient="row").sort(RANK)

    def _built(
        self, tables: Tables, ports: tuple[int, ...], sent: Sequence[tuple[int | None, ...]]
    ) -> pl.DataFrame:
        """Return the rows of pairs, or of lone records of one side."""
        own = [pair for pair in sent if all((pair[p] is not None) == (p in ports) for p in (0, 1))]
        parts = []
        for port in ports:
            numbers = pl.Series([pair[port] for pair in own], dtype=pl.Int64)
            side = SIDES[port]
            taken = prefixed(with_marks(tables[side])[numbers].drop(MATCHED), side)
            parts.append(taken.drop(n for n in taken.columns if n.startswith(field_column(""))))
        first = SIDES[ports[0]]
        names = zip(self._query.key_fields("left"), self._query.key_fields(first), strict=True)
        records = pl.concat(parts, how="horizontal").with_columns(
            pl.col(f"{first}.{field}").alias(field_column(name)) for name, field in names
        )
        return self._rows.of(records, retracts=False)


def _partition_table(side: Side) -> str:
    return f"{side}_partitions"
