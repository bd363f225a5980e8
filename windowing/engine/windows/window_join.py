"""Window joins: lanes send single records with the windows that they lie in; shards build pairs.

A record is in a window from the window's end on or, if it is late for it, from its late epoch on.
A pair is due in each window that both records are in, at the later of the two instants. A record
of a kept side is due alone in a window when it gets into it without a partner; a later pair there
takes that row back. All of this follows from the records and the movement of progress (ADR 8), and
from a window's number alone: its contents are found anew whenever something of it is due.

Source: `windowing/adr/0072`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import (
    FIRST_WINDOW,
    INSTANT,
    IS_LATE,
    KEY,
    LAST_WINDOW,
    OFFSET,
    OFFSETS,
    PARTITION,
    RECORDS,
    RELEASE,
    RETRACTS,
    REVISION,
    WINDOW_ID,
    field_column,
)
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.progress.clock import clock_by
from windowing.engine.progress.reached import Progress
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.wids import ENDED, ON_TIME, Ints, Numbering
from windowing.engine.windows import evaluation
from windowing.engine.windows.classes import Extent, extents_in, numbering_by
from windowing.engine.windows.join import condition, equal_columns, needed_columns, needed_types
from windowing.engine.windows.join_rows import SIDES, PairRows, offsets, side_column
from windowing.engine.windows.part import Outcome, Scan, Tables, outcome_of
from windowing.model import Pipeline
from windowing.model.join import Side
from windowing.model.window_join import WindowJoinQuery

_PLACE: Final = (PARTITION, OFFSET)
_IN_WINDOW: Final = (*_PLACE, INSTANT, IS_LATE)
"""Columns of a record in a window besides those of the other side."""


def plan_window_join(query: WindowJoinQuery, pipeline: Pipeline) -> FlowPlan[WindowJoinQuery]:
    """Decide how a window join is run."""
    return FlowPlan(
        query,
        WindowJoinLanePart,
        WindowJoinShardPart,
        replaces=False,
        evaluation=evaluation.PAIRED_IN_WINDOWS,
        schema=StateSchema.of_records(),
        route=tuple(equal_columns(query)),
        clock=clock_by(query.attribute, pipeline.source),
        whole=evaluation.ONE_BY_ONE,
    )


def window_join_extents(query: WindowJoinQuery, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of the window of each row."""
    return extents_in(query.over, rows)


class WindowJoinLanePart:
    """The records of the lane's side.

    A record has the columns for equality, `w_first` and `w_last`, `release` (`ON_TIME`, or the
    late epoch for windows that it is late for), `offset`, and the fields that rows and conditions
    need, as `left.x` or `right.x`. One that is late for some of its windows only is there twice.

    Attributes:
        route: the columns that must be equal; without any, all records go to one shard.
    """

    def __init__(self, query: WindowJoinQuery, pipeline: Pipeline) -> None:
        self._query, self._source = query, pipeline.source
        self._numbering = numbering_by(query.over)
        self._instants = Instants(query, self._numbering)
        self.route = self._equal = equal_columns(query)

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Split the windows of records into on-time, late, and refused ones."""
        query, numbering, values = self._query, self._numbering, scan.values
        first, last = numbering.span(values)
        inside = ~(numbering.outside(values) | (last < first))
        opened = numbering.open_from(scan.progress_us)
        late = inside & (opened > first)
        consistent = query.late.mode == "consistent"
        on_time_from = np.where(late, last + 1, first) if consistent else np.maximum(first, opened)
        on_time = inside & (on_time_from <= last)
        spans = [(on_time, on_time_from, last, np.full(len(first), ON_TIME))]
        if query.late.policy == "update":
            assert query.retention_us is not None  # noqa: S101 - `update` has both
            assert query.late.every_us is not None  # noqa: S101
            kept = numbering.open_from(wids.lowered(scan.progress_us, query.retention_us))
            late_from, late_to = np.maximum(first, kept), np.minimum(last, on_time_from - 1)
            waits = late & (late_from <= late_to)
            release = wids.release_us(scan.progress_us, query.late.every_us)
            spans.append((waits, late_from, late_to, release))
        taken = np.logical_or.reduce([chosen for chosen, *_ in spans])
        return outcome_of(query, scan, taken, inside & ~taken), self._tables(scan, spans)

    def _tables(self, scan: Scan, spans: Sequence[tuple[wids.Flags, Ints, Ints, Ints]]) -> Tables:
        query, (source, _) = self._query, self._source.place(scan.partition)
        own = query.side_of(source.topic)
        tables = {side: pl.DataFrame(schema=self._schema(side)) for side in SIDES}
        parts = []
        for chosen, first, last, release in spans:
            records = scan.data.filter(pl.Series(chosen))
            fields = zip(query.shard_fields(own), self._equal, strict=True)
            parts.append(
                pl.DataFrame(
                    [
                        *(records[field_column(name)].alias(equal) for name, equal in fields),
                        pl.Series(FIRST_WINDOW, first[chosen]),
                        pl.Series(LAST_WINDOW, last[chosen]),
                        pl.Series(RELEASE, release[chosen]),
                        records[OFFSET],
                        *needed_columns(query, own, records, scan.values[chosen]),
                    ]
                )
            )
        tables[own] = pl.concat(parts)
        return dict(tables.items())

    def _schema(self, side: Side) -> dict[str, pl.DataType | type[pl.DataType]]:
        query, types = self._query, self._query.source(side).fields
        equal = zip(query.shard_fields(side), self._equal, strict=True)
        numbers = (FIRST_WINDOW, LAST_WINDOW, RELEASE, OFFSET)
        return {
            **{name: dtype_of(types[field]) for field, name in equal},
            **dict.fromkeys(numbers, pl.Int64),
            **needed_types(query, side),
        }

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return when each record is first in a window."""
        return self._instants.first(table)


class Instants:
    """When records get into their windows: at a window's end or, being late for it, at an epoch."""

    def __init__(self, query: WindowJoinQuery, numbering: Numbering) -> None:
        self._numbering, self._every_us = numbering, query.late.every_us

    def of(self, windows: Ints, release: Ints) -> Ints:
        """Return the instants at which records get into windows.

        Args:
            release: of each record: `ON_TIME`, or its late epoch; it waits for the window, too.
        """
        ends = self._numbering.ends(windows)
        if self._every_us is None:
            return ends
        late = np.maximum(release, wids.release_us(ends, self._every_us))
        return np.where(release == ON_TIME, ends, late)

    def first(self, table: pl.DataFrame) -> Ints:
        """Return when each record of a table gets into its first window."""
        return self.of(table[FIRST_WINDOW].to_numpy(), table[RELEASE].to_numpy())

    def each(self, table: pl.DataFrame) -> tuple[Ints, Ints]:
        """Return all windows of the records of a table, and when the records get into them."""
        first, last = (table[name].to_numpy() for name in (FIRST_WINDOW, LAST_WINDOW))
        windows = _numbers_in(first, last)
        release = np.repeat(table[RELEASE].to_numpy(), np.maximum(last - first + 1, 0))
        return windows, self.of(windows, release)


@dataclass(frozen=True)
class _Met:
    """Records of one side in windows, by the instant since which they are there.

    Attributes:
        old: those that were there before.
        new: those that got there with the movement of progress.
    """

    old: pl.DataFrame
    new: pl.DataFrame

    @property
    def all(self) -> pl.DataFrame:
        """Both."""
        return pl.concat([self.old, self.new])


class WindowJoinShardPart:
    """The rows of a window join."""

    def __init__(self, query: WindowJoinQuery, pipeline: Pipeline) -> None:
        self._query, self._numbering = query, numbering_by(query.over)
        self._instants = Instants(query, self._numbering)
        self._rows, self._equal = PairRows(query, pipeline.source), equal_columns(query)

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        since, until = (int(p.of(tables["left"])[0]) for p in (before, after))
        moved = self._changed(tables, since, until)
        if not len(moved):
            return pl.DataFrame()
        met = {side: self._met(side, tables[side], moved, since, until) for side in SIDES}
        left, right = met["left"], met["right"]
        pairs = pl.concat([self._match(left.new, right.all), self._match(left.old, right.new)])
        found = [self._built(pairs, SIDES, retracts=False)]
        for side in SIDES:
            if self._query.keeps(side):
                found += self._alone(side, met, pairs, since)
        rows = pl.concat(found)
        return rows if len(rows) else pl.DataFrame()

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a record gets into a window."""
        until = int(after.of(tables["left"])[0])
        if until == ENDED:
            return ENDED
        due, on_time, opened = [ENDED], pl.col(RELEASE) == ON_TIME, self._ended(until) + 1
        for side in SIDES:
            table = tables[side]
            ahead = table.filter(on_time, pl.col(LAST_WINDOW) >= opened)
            first = np.maximum(ahead[FIRST_WINDOW].to_numpy(), opened)
            due.append(self._numbering.first_end(first))
            _, instants = self._instants.each(table.filter(~on_time))
            due += instants[instants > until].tolist()
        return min(due)

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return when each record is first in a window: no row has it, or needs it, before."""
        del name
        return self._instants.first(table)

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return the records that a row after this progress may need."""
        until = int(after.of(tables["left"])[0])
        # A record that is late for a window waits for its epoch there, past_end at the latest.
        past = min(evaluation.past_end(self._query), ENDED)
        oldest = int(self._numbering.open_from(wids.lowered(np.array([until]), past))[0])
        kept = pl.lit(until < ENDED) & (pl.col(LAST_WINDOW) >= oldest)
        order = [FIRST_WINDOW, LAST_WINDOW, RELEASE, *_PLACE]
        return {side: tables[side].filter(kept).sort(order) for side in SIDES}

    def _ended(self, until: int) -> int:
        """Return the last window that has ended by a progress."""
        return int(self._numbering.ended_by(np.array([until]))[0])

    def _changed(self, tables: Tables, since: int, until: int) -> Ints:
        """Return the windows into which records get while progress moves, in order."""
        if since == ENDED:
            return np.zeros(0, dtype=np.int64)
        on_time, opened, ended = (
            pl.col(RELEASE) == ON_TIME,
            self._ended(since) + 1,
            self._ended(until),
        )
        found = []
        for side in SIDES:
            table = tables[side]
            spans = table.filter(on_time).select(FIRST_WINDOW, LAST_WINDOW).unique()
            first = np.maximum(spans[FIRST_WINDOW].to_numpy(), opened)
            found.append(_numbers_in(first, np.minimum(spans[LAST_WINDOW].to_numpy(), ended)))
            windows, instants = self._instants.each(table.filter(~on_time))
            found.append(windows[(instants > since) & (instants <= until)])
        return np.unique(np.concatenate(found))

    def _met(self, side: Side, table: pl.DataFrame, windows: Ints, since: int, until: int) -> _Met:
        """Return the records of a side that are in some windows by now, once for each."""
        first = np.searchsorted(windows, table[FIRST_WINDOW].to_numpy(), "left")
        stop = np.searchsorted(windows, table[LAST_WINDOW].to_numpy(), "right")
        records = np.repeat(np.arange(len(table)), stop - first)
        ids = windows[_numbers_in(first, stop - 1)]
        there = table[records].with_columns(pl.Series(WINDOW_ID, ids))
        instants = self._instants.of(ids, there[RELEASE].to_numpy())
        there = there.with_columns(
            pl.Series(INSTANT, instants), (pl.col(RELEASE) != ON_TIME).alias(IS_LATE)
        )
        there = there.drop(FIRST_WINDOW, LAST_WINDOW, RELEASE).filter(pl.col(INSTANT) <= until)
        new = there[INSTANT] > since
        there = there.rename({name: side_column(side, name) for name in _IN_WINDOW})
        return _Met(there.filter(~new), there.filter(new))

    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """Return all pairs of some records, with the `instant` at which each is due."""
        pairs = left.join(right, on=[*self._equal, WINDOW_ID], how="inner")
        instant = pl.max_horizontal(side_column(side, INSTANT) for side in SIDES)
        return pairs.filter(*map(condition, self._query.where)).with_columns(instant.alias(INSTANT))

    def _alone(
        self, side: Side, met: dict[Side, _Met], pairs: pl.DataFrame, since: int
    ) -> list[pl.DataFrame]:
        """Return rows of a side's records without a partner, and their retractions."""
        own, other = met[side], met["right" if side == "left" else "left"]
        place = [WINDOW_ID, *(side_column(side, name) for name in _PLACE)]
        # Old records with a new partner may have been alone until now.
        again = own.old.join(pairs.select(place).unique(), on=place, how="semi")
        known = [again, other.old] if side == "left" else [other.old, again]
        every = pl.concat([pairs, self._match(*known)])
        first = every.group_by(place).agg(paired=pl.col(INSTANT).min())
        records = pl.concat([own.new, again]).join(first, on=place, how="left")
        due = pl.col(side_column(side, INSTANT))
        lone = records.filter(pl.col("paired").is_null() | (pl.col("paired") > due))
        sent, back = lone.filter(due > since), lone.filter(pl.col("paired") > since)
        return [
            self._built(sent, [side], retracts=False),
            self._built(back, [side], retracts=True),
        ]

    def _built(
        self, records: pl.DataFrame, there: Sequence[Side], *, retracts: bool
    ) -> pl.DataFrame:
        """Return rows of pairs, or of lone records of one side."""
        late = pl.any_horizontal(side_column(side, IS_LATE) for side in there)
        rows = records.select(
            WINDOW_ID,
            pl.lit(retracts).alias(RETRACTS),
            late.cast(pl.Int64).alias(REVISION),
            pl.lit(len(there), dtype=pl.Int64).alias(RECORDS),
            pl.concat_list(offsets(side) for side in there).list.sort().alias(OFFSETS),
            self._rows.key(there).alias(KEY),
        )
        return rows.with_columns(self._rows.values.of(records, there))


def _numbers_in(first: Ints, last: Ints) -> Ints:
    """Return all numbers of some ranges, one range after the other; an empty one has none."""
    counts = np.maximum(last - first + 1, 0)
    begins = np.cumsum(counts) - counts
    numbers: Ints = np.arange(counts.sum()) + np.repeat(first - begins, counts)
    return numbers
