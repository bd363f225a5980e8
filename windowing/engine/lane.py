"""A lane: the sequential state of one partition: order, progress, lateness.

Lateness is decided here, by the lane's own progress before the record, and is therefore a fact of
the log. The output of a lane is independent of disorder: partial states of slices, each with the
windows that accept it and, for late records, the epoch that releases it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from windowing.engine.changes import Claim, claims, judged
from windowing.engine.columns import (
    COUNTER,
    FATE,
    KIND,
    OFFSET,
    PARTITION,
    REFUSAL,
    WARNED,
    field_column,
)
from windowing.engine.duplicates import LaneDuplicates
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import (
    ClockId,
    ClockState,
    Course,
    Rows,
    begin,
    make_clock,
)
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.pack import BAD, DATA, END
from windowing.engine.reading.refusals import not_allowed_again, read_columns
from windowing.engine.storage.formats import Format
from windowing.engine.storage.frames import from_bytes, in_order, to_bytes, where
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA, Parcel, post, split
from windowing.engine.storage.state import StateStore, check_fingerprint
from windowing.engine.tally import Tally
from windowing.engine.wids import ENDED, Ints
from windowing.engine.windows.part import LanePart, Scan
from windowing.engine.windows.refusing import Refusing
from windowing.model.computed import warning
from windowing.model.file.pipeline import Source
from windowing.model.run_errors import OffsetGap, RedeliveredOffset, UndeclaredPartition
from windowing.model.windows.window import ROW_NUM

KEY, _KEYS = "lane", "keys/"

_NONE_REFUSED = pl.DataFrame(schema=DEAD_LETTER_SCHEMA)


def check_lane(source: Source, number: int) -> None:
    """Refuse records of an undeclared partition.

    Raises:
        UndeclaredPartition: it has no lane.
    """
    if not 0 <= number < source.partitions:
        known = number < 0 or len(source.parts) == 1
        name = source.lane(number) if known else f"lane {number}"
        raise UndeclaredPartition(source.undeclared(name))


class LaneState(msgspec.Struct, array_like=True):
    """The head of a lane's state; the clocks' tables of keys are stored beside it.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        last_offset: the last offset seen; -1 before the first.
        counter: of the last control record whose signature was right; -1 before the first.
    """

    fingerprint: str
    clocks: dict[str, ClockState]
    last_offset: int = -1
    counter: int = -1

    @property
    def ended(self) -> bool:
        """Whether the lane has ended; it ends by every clock at once."""
        return any(clock.reached.progress_us == ENDED for clock in self.clocks.values())


@dataclass(frozen=True)
class LaneReading:
    """A chunk as its lane reads it.

    Attributes:
        rows: its rows, by kind.
        courses: what each clock says of them.
        claims: the changes of the queries among them.
        withheld: the offset and the fate of each record that no window sees; None: nothing
            withholds any.
        warned: how many records break each rule that only warns, by the name of the count.
    """

    rows: Rows
    courses: Mapping[ClockId, Course]
    claims: Sequence[Claim] = ()
    withheld: pl.DataFrame | None = None
    warned: Mapping[str, int] = field(default_factory=dict)

    @property
    def reached(self) -> dict[str, LaneProgress]:
        """The lane's progress after the chunk, by the name of the clock."""
        return {clock.name: course.reached for clock, course in self.courses.items()}


STATE = Format("a lane's state", 1, LaneState)
"""The stored format."""


class Lane:
    """The processor of one partition's chunks.

    Args:
        partition: the lane's number: its topic's partition, except in joins.
        redelivered: how to treat an offset that the lane has passed: as an `error`, if the engine
            never resends, or as a counted no-op (`skip`).

    Attributes:
        name: of its partition, for messages.
        parts: its part of each query, by the query's name.
    """

    def __init__(
        self, plan: Plan, partition: int, redelivered: Literal["error", "skip"] = "skip"
    ) -> None:
        self._plan, self._partition, self.redelivered = plan, partition, redelivered
        self._pipeline = pipeline = plan.pipeline
        self.name = pipeline.source.lane(partition)
        self._source, _ = pipeline.source.place(partition)
        own = self._source.duplicates
        self._duplicates = None if own is None else LaneDuplicates(own, pipeline.source, partition)
        self._clocks = {
            clock: make_clock(clock, pipeline.source, partition) for clock in plan.clocks
        }
        self.parts: dict[str, LanePart] = {
            flow.name: flow.lane_part(pipeline) for flow in plan.flows
        }
        self._refusing = {flow.name: Refusing.of(flow.query) for flow in plan.flows}

    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:
        """Process the chunks of one batch, in any order, and return one parcel per shard.

        Raises:
            RedeliveredOffset, OffsetGap: the chunks do not continue the lane.
            CheckpointMismatch: the state belongs to another pipeline.
        """
        state = self._load(store)
        chunk = in_order(pl.concat(chunks, rechunk=True), OFFSET)
        fresh = self._fresh(chunk, state)
        reading = self.read(fresh, state, store)
        if len(fresh):
            state.last_offset = int(fresh[OFFSET][-1])
        store.put(KEY, STATE.encode(state))
        parcels = [Parcel(self._partition, reading.reached) for _ in range(self._plan.shards)]
        for clock, course in reading.courses.items():
            self._post_keys(clock, course, parcels)
        tally = Tally(self._partition, self._plan)
        tally.redelivered = len(chunk) - len(fresh)
        judgement = judged(self._pipeline, self._partition, reading.claims)
        bad = pl.concat([reading.rows.dead, judgement.refused])
        tally.take(fresh[OFFSET], len(reading.rows.data), bad)
        if reading.withheld is not None:
            tally.withhold(reading.withheld)
        tally.warn(reading.warned)
        for flow in self._plan.flows:
            part = self.parts[flow.name]
            seen, refused = self.seen(flow, reading)
            outcome, additions = part.assign(seen)
            post(flow.name, additions, parcels, part.route, part.due_us)
            tally.judge(flow.name, outcome.plus(refused))
        home = parcels[self._partition % len(parcels)]
        tally.into(home, reading.courses[self._plan.clocks[0]].reached)
        home.taken = judgement.taken
        return parcels

    def read(self, chunk: pl.DataFrame, state: LaneState, store: StateStore) -> LaneReading:
        """Sort out the rows of a chunk, and run all clocks over them.

        Args:
            chunk: in the order of offsets, none of which the lane has seen.
            state: where the clocks stand; it is updated.
        """
        if COUNTER in chunk.columns:
            chunk = self._once(chunk, state)
        rows = self._sorted_out(chunk, state.ended)
        time = self._plan.clocks[0]
        if self._duplicates is not None:
            rows = self._duplicates.withheld(rows, state.clocks[time.name], store)
        stored = None if time.key is None else store.get(_KEYS + time.name)
        keys = None if stored is None else from_bytes(stored)
        found = claims(rows, self._clocks[time], state.clocks[time.name], keys)
        courses = {clock: self._run(clock, rows, state, store) for clock in self._plan.clocks}
        warned = self._warned(rows.data)
        if rows.withheld is None:
            return LaneReading(rows, courses, found, warned=warned)
        for clock, course in courses.items():
            if clock.attribute != ROW_NUM:  # which numbers no others
                courses[clock] = course.seen(rows)
        withheld = where(rows.data, rows.withheld).select(OFFSET, FATE)
        return LaneReading(rows.seen(), courses, found, withheld, warned)

    def _warned(self, records: pl.DataFrame) -> dict[str, int]:
        if WARNED not in records.columns:
            return {}
        broken, names = records[WARNED].to_numpy(), self._source.warnings
        counts = {name: int((broken >> bit & 1).sum()) for bit, name in enumerate(names)}
        return {warning(name).name: number for name, number in counts.items() if number}

    def seen(self, flow: FlowPlan[Any], reading: LaneReading) -> tuple[Scan, pl.DataFrame]:
        """Return a chunk as a query's part sees it, and the dead letters of what it refuses."""
        scan, refusing = self._scan(flow, reading), self._refusing[flow.name]
        if refusing is None:
            return scan, _NONE_REFUSED
        return refusing.split(self.parts[flow.name], scan)

    def _scan(self, flow: FlowPlan[Any], reading: LaneReading) -> Scan:
        course, by_rows = reading.courses[flow.clock], flow.row_clock
        return Scan(
            partition=self._partition,
            data=reading.rows.data,
            values=course.values,
            progress_us=course.progress_us,
            numbers=None if by_rows is None else reading.courses[by_rows].values,
        )

    def _load(self, store: StateStore) -> LaneState:
        data = store.get(KEY)
        fingerprint = self._pipeline.fingerprint
        if data is None:
            source, number = self._pipeline.source, self._partition
            begins = {clock.name: begin(clock, source, number) for clock in self._plan.clocks}
            clocks = {name: ClockState(reached) for name, reached in begins.items()}
            return LaneState(fingerprint, clocks)
        state = STATE.decode(data)
        check_fingerprint(f"lane {self.name}", state.fingerprint, self._pipeline)
        state.fingerprint = fingerprint
        return state

    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        """Return the rows that the lane has not seen, each offset once."""
        # In order, so that an offset that does not rise was there before.
        rises = np.diff(chunk[OFFSET].to_numpy(), prepend=state.last_offset) > 0
        fresh = where(chunk, rises & (chunk[OFFSET] > state.last_offset).to_numpy())
        if self.redelivered == "error" and len(fresh) < len(chunk):
            again = pl.col(OFFSET).is_duplicated() | (pl.col(OFFSET) <= state.last_offset)
            first = chunk.filter(again)[OFFSET][0]
            msg = (
                f"lane {self.name} got offset {first} again (its last was {state.last_offset}): "
                "source and checkpoint disagree; start a new run to replay"
            )
            raise RedeliveredOffset(msg)
        if self._source.dense:
            self._refuse_holes(fresh[OFFSET].to_numpy(), state.last_offset)
        return fresh

    def _refuse_holes(self, offsets: Ints, last_offset: int) -> None:
        if last_offset >= 0:
            offsets = np.concatenate(([np.int64(last_offset)], offsets))
        holes = np.flatnonzero(np.diff(offsets) != 1)
        if len(holes):
            before, after = offsets[holes[0]], offsets[holes[0] + 1]
            msg = (
                f"lane {self.name} goes from offset {before} to {after}, and its source is "
                "declared dense: records are missing; restore them, or declare dense: false"
            )
            raise OffsetGap(msg)

    def _once(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        """Refuse signed control records whose counter does not rise; the state is updated."""
        known = pl.Series([state.counter, *chunk[COUNTER]], dtype=pl.Int64)
        largest = known.fill_null(state.counter).cum_max()
        again = (chunk[COUNTER] <= largest[:-1]).fill_null(value=False)
        state.counter = int(largest[-1])
        if not again.any():
            return chunk
        letter = not_allowed_again(self._source.control)
        return chunk.with_columns(
            pl.when(again).then(pl.lit(BAD, dtype=pl.UInt8)).otherwise(KIND).alias(KIND),
            pl.when(again).then(pl.lit(letter)).otherwise(REFUSAL).alias(REFUSAL),
        )

    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        """Separate records, control records, bad values, and rows after the end."""
        kind = chunk[KIND].to_numpy()
        after_end = np.full(len(chunk), ended)
        if not ended and (kind == END).any():
            after_end[int(np.argmax(kind == END)) + 1 :] = True
        is_data = (kind == DATA) & ~after_end
        bad = (kind == BAD) | ((kind == DATA) & after_end)
        dead = chunk.filter(pl.Series(bad)).select(
            pl.lit(self._partition, dtype=pl.Int32).alias(PARTITION),
            OFFSET,
            query=pl.lit(None, dtype=pl.String),
            **read_columns(pl.Series(after_end[bad])),
        )
        # With the windowing attribute and the offset it gives the canonical order.
        here = pl.lit(self._partition, dtype=pl.Int32).alias(PARTITION)
        records = where(chunk, is_data).with_columns(here)
        withheld = records[FATE].is_not_null().to_numpy() if FATE in records.columns else None
        return Rows(chunk, records, is_data, after_end, dead, withheld)

    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        stored = None if clock.key is None else store.get(_KEYS + clock.name)
        keys = None if stored is None else from_bytes(stored)
        course = self._clocks[clock].run(rows, state.clocks[clock.name], keys)
        if course.keys is not None and course.moved is not None and len(course.moved):
            store.put(_KEYS + clock.name, to_bytes(course.keys))
        return course

    def _post_keys(self, clock: ClockId, course: Course, parcels: Sequence[Parcel]) -> None:
        if clock.key is not None and course.moved is not None:
            for number, keys in split(course.moved, [field_column(clock.key)], len(parcels)):
                parcels[number].keys[clock.name] = to_bytes(keys)
