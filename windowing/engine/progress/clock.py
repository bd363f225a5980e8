"""Clocks: a lane's progress by one windowing attribute, before and after each of its records.

A lane has a clock for each windowing attribute. Most measure event time, or another attribute, by a
generator of progress. A row clock counts records in the order of the lane: a record's value is then
its number, and nothing is ever late.

Progress may also be per key: by a generator with promises for single keys, or because each value of
PATTR counts its own rows. A clock then has a table of keys and their bounds.

Source: Li et al., SIGMOD 2005, section 5 (punctuation from generators); keyed progress is ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.columns import BEFORE, KEY_BOUND, KIND, OFFSET, TIME, field_column
from windowing.engine.progress import generator_of
from windowing.engine.progress.reached import (
    LaneProgress,
    Progress,
    ProgressOfLanes,
    RowProgress,
    StreamProgress,
    spelled,
)
from windowing.engine.reading.pack import BOUND, BOUND_ON, END, IGNORED, OBSERVED
from windowing.engine.storage.frames import where
from windowing.engine.wids import ENDED, NOTHING_YET, Flags, Ints
from windowing.model import Query
from windowing.model.file.pipeline import Source
from windowing.model.progress import Disorder, OrderedPer
from windowing.model.registry import PluginError
from windowing.model.rules import in_log_order
from windowing.model.run_errors import CheckpointMismatch
from windowing.model.user.user_code import raisable, words
from windowing.model.windows.window import ROW_NUM


@dataclass(frozen=True)
class ClockId:
    """The identity of a clock.

    Attributes:
        attribute: what it measures: a field, or `row_num`.
        key: the field whose values have their own progress; None: only the lane does.
        lanes: the lanes whose progress it measures; None: all. Each lane has one clock for both.
    """

    attribute: str
    key: str | None
    lanes: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """Its name in state and in parcels."""
        if " per" in self.attribute:
            # A field's name may contain the separator.
            return json.dumps([self.attribute, self.key])
        return self.attribute if self.key is None else f"{self.attribute} per {self.key}"


class ClockState(msgspec.Struct, array_like=True):
    """The state of a clock, except for its table of keys.

    Attributes:
        memory: the state of its generator.
    """

    reached: LaneProgress
    memory: list[int] = []


@dataclass(frozen=True)
class Rows:
    """The new rows of a chunk, by kind.

    Attributes:
        all: every row, in offset order.
        data: the records among them.
        after_end: which rows follow the lane's end.
        dead: dead letters of values that no query can use.
        withheld: which of the records no window is to see; None: all windows see all of them.
    """

    all: pl.DataFrame
    data: pl.DataFrame
    is_data: Flags
    after_end: Flags
    dead: pl.DataFrame
    withheld: Flags | None = None

    def seen(self) -> Rows:
        """Return the rows without the records that no window is to see."""
        if self.withheld is None:
            return self
        return replace(self, data=where(self.data, ~self.withheld), withheld=None)

    def over(self, name: str) -> Rows:
        """Return the rows with another column as their times, to which bounds do not apply."""
        bound = pl.col(KIND).is_in([BOUND, BOUND_ON, OBSERVED])
        return replace(
            self,
            all=self.all.with_columns(
                pl.col(name).alias(TIME),
                pl.when(bound).then(pl.lit(IGNORED)).otherwise(KIND).alias(KIND),
            ),
            data=self.data.with_columns(pl.col(name).alias(TIME)),
        )


@dataclass(frozen=True)
class Course:
    """The result of a clock over a chunk.

    Attributes:
        values: the attribute of each record.
        progress_us: the progress before each record, of its lane and key.
        reached: the lane's progress after the chunk.
        keys: the bounds of all keys after the chunk (the key's column and `bound`); None: no keys.
        moved: those that this chunk changed.
    """

    values: Ints
    progress_us: Ints
    reached: LaneProgress
    keys: pl.DataFrame | None = None
    moved: pl.DataFrame | None = None

    def seen(self, rows: Rows) -> Course:
        """Return it without the records of a chunk that no window is to see."""
        if rows.withheld is None:
            return self
        seen = ~rows.withheld
        return replace(self, values=self.values[seen], progress_us=self.progress_us[seen])


class Clock(Protocol):
    """One clock of one lane."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        """Run over a chunk, and update `state`.

        Args:
            keys: its table of keys; None: still empty.
        """


def clock_of(query: Query, source: Source) -> ClockId:
    """Return the clock that closes a query's windows."""
    if in_log_order(query.window):
        return ClockId(ROW_NUM, query.window.pattr)
    return clock_by(source.ordered_by(query.window.attribute), source)


def clock_by(attribute: str, source: Source) -> ClockId:
    """Return the clock that measures an attribute of the records."""
    return ClockId(attribute, source.generator_of(attribute).progress_attr)


def row_clock_of(query: Query) -> ClockId | None:
    """Return the clock that numbers a query's records on arrival; None: no numbers are needed."""
    counted = query.window.traits.counts_arrivals
    return ClockId(ROW_NUM, query.window.pattr) if counted else None


def make_clock(clock: ClockId, source: Source, number: int) -> Clock:
    """Build a clock of one lane, by the lane's number.

    In a join each side has its own event-time field; the clock is named after the left one.
    """
    if clock.attribute == ROW_NUM:
        return _RowClock(clock)
    if clock.attribute == source.event_time.field:
        return event_time_clock(source, number)
    own, _ = source.place(number)
    disorder = own.generator_of(clock.attribute)
    return AttributeClock(clock, disorder, source.lane(number), timed=False)


def event_time_clock(source: Source, number: int) -> AttributeClock:
    """Build the clock of a lane's event time."""
    own, _ = source.place(number)
    clock = clock_by(source.event_time.field, source)
    return AttributeClock(clock, own.disorder, source.lane(number), timed=True)


def begin(clock: ClockId, source: Source, number: int) -> LaneProgress:
    """Return a lane's progress before its first record: none, unless it was added to a run."""
    since = None if clock.attribute == ROW_NUM else source.begins_at(number, clock.attribute)
    return LaneProgress() if since is None else LaneProgress(since, since)


def begins_behind(
    clock: ClockId, lane: str, begins: LaneProgress, highest_us: int
) -> CheckpointMismatch:
    """Return the error that an added lane begins behind what the run has reached."""
    return CheckpointMismatch(
        f"lane {lane} is said to join at {clock.attribute} {spelled(begins.progress_us)}, and the "
        f"run is at {spelled(highest_us)}: windows have closed without it; take its lines out of "
        "joined, and accept it again with `slackwater topics FILE --accept-partitions`"
    )


def progress_of(
    clock: ClockId, lanes: Sequence[LaneProgress], keys: pl.DataFrame | None
) -> Progress:
    """Combine all lanes' reports of one clock.

    Args:
        lanes: each lane's progress, by partition.
        keys: the `bound` by key and `partition`; None: none yet.

    Raises:
        ArrivalOrder: it counts rows, and two lanes have records of one unit.
    """
    key = None if clock.key is None else field_column(clock.key)
    if clock.attribute == ROW_NUM:
        return RowProgress.of_lanes(lanes, key, keys, str(clock.key))
    stream = StreamProgress(lanes, key, keys)
    return stream if clock.lanes is None else ProgressOfLanes(stream, clock.lanes)


class AttributeClock:
    """A clock driven by the promises of a generator and of control records.

    The times may be another attribute of the records. Bounds of control records apply to event time
    only; for any other attribute, only `end` counts.
    """

    def __init__(self, clock: ClockId, disorder: Disorder, lane: str, *, timed: bool) -> None:
        self._key = None if clock.key is None else field_column(clock.key)
        self._generator, self._lane = generator_of(disorder, lane), lane
        self._by_record = isinstance(disorder, OrderedPer) and self._key is not None
        self._other = None if timed else field_column(clock.attribute)

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        """Run over a chunk."""
        if self._other is not None:
            rows = rows.over(self._other)
        held = state.reached
        running = self._running(rows, held, state.memory)
        finite, values = running[running < ENDED], rows.data[TIME].to_numpy()
        seen = values if rows.withheld is None else values[~rows.withheld]
        state.reached = LaneProgress(
            progress_us=int(running[-1]),
            furthest_us=max(held.furthest_us, int(finite.max(initial=NOTHING_YET))),
            newest_us=max(held.newest_us, int(seen.max(initial=NOTHING_YET))),
        )
        before = running[:-1][rows.is_data]
        if self._key is None:
            return Course(values, before, state.reached)
        kind, ts_us = _kinds_and_times(rows)
        promises = rows.is_data if self._by_record else np.zeros(len(kind), dtype=bool)
        promises = promises | ((kind == BOUND_ON) & ~rows.after_end)
        promised = np.where(promises, np.minimum(ts_us, ENDED - 1), NOTHING_YET)
        of_key, all_keys, moved = _per_key(rows, self._key, promised, keys)
        return Course(values, np.maximum(before, of_key), state.reached, all_keys, moved)

    def of_lane(self, rows: Rows, state: ClockState) -> Ints:
        """Return the progress of the lane alone, before each row of a chunk and after the last.

        Args:
            state: before the chunk; it stays as it is.
        """
        return self._running(rows, state.reached, [*state.memory])

    def _running(self, rows: Rows, held: LaneProgress, memory: list[int]) -> Ints:
        bounds = self._bounds(rows, memory)
        return np.maximum.accumulate(np.concatenate(([held.progress_us], bounds)))

    def _bounds(self, rows: Rows, memory: list[int]) -> Ints:
        """Return the bound after each row, `NOTHING_YET` for none; only the lane's end is ENDED."""
        # Only `end` closes a lane.
        of_data = np.minimum(self._generated(rows.data, memory), ENDED - 1)
        if rows.is_data.all():
            return of_data
        kind, ts_us = _kinds_and_times(rows)
        bounds = np.full(len(kind), NOTHING_YET, dtype=np.int64)
        bounds[rows.is_data] = of_data
        said, observed = kind == BOUND, kind == OBSERVED
        bounds[said] = np.minimum(ts_us[said], ENDED - 1)
        bounds[observed] = np.minimum(self._generator.observed(ts_us[observed]), ENDED - 1)
        bounds[kind == END] = ENDED
        return bounds

    def _generated(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the generator's bounds.

        Raises:
            PluginError: it failed. No bound can stand in for it, as it would decide what is late.
        """
        before = [*memory]
        try:
            return self._generator.bounds(records, memory)
        except raisable() as error:
            offset = self._failing(records, before)
            msg = f"{self._lane}, offset {offset}: its generator of progress failed: {words(error)}"
            raise PluginError(msg) from error

    def _failing(self, records: pl.DataFrame, memory: list[int]) -> int:
        """Return the offset of the record at which the generator fails."""
        for number in range(len(records)):
            try:
                self._generator.bounds(records[number : number + 1], memory)
            except raisable():
                return int(records[OFFSET][number])
        return int(records[OFFSET][0])


def _kinds_and_times(rows: Rows) -> tuple[NDArray[np.uint8], Ints]:
    return rows.all[KIND].to_numpy(), rows.all[TIME].fill_null(0).to_numpy()


def _per_key(
    rows: Rows, key: str, promised: Ints, keys: pl.DataFrame | None
) -> tuple[Ints, pl.DataFrame, pl.DataFrame]:
    """Return the key's progress before each record; all bounds afterwards; the changed ones.

    Args:
        key: the key's column.
        promised: each row's bound for its key; `NOTHING_YET`: none.
        keys: the bounds before the chunk.
    """
    events = rows.all.select(key, pl.Series(promised).alias(KEY_BOUND), row=pl.Series(rows.is_data))
    if keys is not None:
        events = pl.concat([keys.with_columns(row=pl.lit(value=False)), events])
    before = pl.col(KEY_BOUND).cum_max().shift(1).over(key).fill_null(NOTHING_YET)
    of_records = events.with_columns(before.alias(BEFORE)).filter("row")[BEFORE].to_numpy()
    said = events.filter(pl.col(KEY_BOUND) > NOTHING_YET)
    bounds = said.group_by(key).agg(pl.col(KEY_BOUND).max()).sort(key)
    if keys is None:
        return of_records, bounds, bounds
    moved = bounds.join(keys, on=[key, KEY_BOUND], how="anti", nulls_equal=True)
    return of_records, bounds, moved


class _RowClock:
    """A clock that numbers the data records of a lane from 0, per key if there is one."""

    def __init__(self, clock: ClockId) -> None:
        self._key = None if clock.key is None else field_column(clock.key)

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        """Run over a chunk; a unit's progress is the number of its next record."""
        rows = rows.seen()
        held, count = state.reached, len(rows.data)
        if self._key is None:
            first = max(held.furthest_us, 0)
            numbers: Ints = np.arange(first, first + count, dtype=np.int64)
            furthest_us = first + count if first + count else NOTHING_YET
        else:
            furthest_us = NOTHING_YET
        ended = held.progress_us == ENDED or bool((rows.all[KIND] == END).any())
        progress_us = ENDED if ended else furthest_us
        state.reached = LaneProgress(progress_us, furthest_us, NOTHING_YET)
        if self._key is None:
            return Course(numbers, numbers, state.reached)
        base = pl.lit(0, dtype=pl.Int64)
        records = rows.data.select(self._key)
        if keys is not None:
            records = records.join(
                keys, on=self._key, how="left", nulls_equal=True, maintain_order="left"
            )
            base = pl.col(KEY_BOUND).fill_null(0)
        number = base + pl.int_range(pl.len(), dtype=pl.Int64).over(self._key)
        numbers = records.select(number.alias("number"))["number"].to_numpy()
        moved = (
            records.select(self._key, (pl.Series(numbers) + 1).alias(KEY_BOUND))
            .group_by(self._key)
            .agg(pl.col(KEY_BOUND).max())
            .sort(self._key)
        )
        return Course(numbers, numbers, state.reached, merge_keys(keys, moved, self._key), moved)


def merge_keys(held: pl.DataFrame | None, moved: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Merge two tables of bounds: the larger bound of each key (and other identifying columns)."""
    joined = moved if held is None else pl.concat([held, moved.select(held.columns)])
    return joined.group_by(names).agg(pl.col(KEY_BOUND).max()).sort(names)
