"""Defects of one partition's order, redelivery, poison, and lateness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import dead_letters as to_dead_letters
from chaos.planted_bugs.conditions import (
    nullable_key,
    several_lanes,
    several_queries,
    sliding,
    some_flow,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.columns import FATE, KIND, OFFSET, field_column
from windowing.engine.lane import Lane, LaneState
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, Course, Rows
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.pack import BAD, IGNORED
from windowing.engine.storage.frames import from_bytes, to_bytes, where
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.wids import NOTHING_YET, Flags, Ints
from windowing.engine.windows.part import dead_letters
from windowing.engine.windows.sliding_lane import Frontier, SlidingLanePart
from windowing.model.fates import Fate
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.query import Flow


@dataclass
class Watermark:
    """A watermark that all lanes of a job share, and should not.

    Attributes:
        lanes: per partition, the progress that its lane last reported.
    """

    lanes: dict[int, int] = field(default_factory=dict)
    partitions: int = 1

    @property
    def stands_us(self) -> int:
        """The stream's current progress, which depends on how lanes interleave."""
        if len(self.lanes) < self.partitions:
            return NOTHING_YET
        return min(self.lanes.values())


def without(fate: Fate, rows: Rows, run: Callable[[Rows], Course]) -> Course:
    """Return a lane's course over a chunk of which it has not seen the records of a fate."""
    if FATE not in rows.data.columns:
        return run(rows)
    gone = (rows.data[FATE] == fate.name).fill_null(value=False).to_numpy()
    places = np.flatnonzero(rows.is_data)[gone]
    kinds, is_data = rows.all[KIND].to_numpy().copy(), rows.is_data.copy()
    kinds[places], is_data[places] = IGNORED, False
    seen = replace(
        rows,
        all=rows.all.with_columns(pl.Series(KIND, kinds)),
        data=where(rows.data, ~gone),
        is_data=is_data,
        withheld=None if rows.withheld is None else rows.withheld[~gone],
    )
    course = run(seen)
    values, progress_us = np.zeros((2, len(gone)), dtype=np.int64)
    values[~gone], progress_us[~gone] = course.values, course.progress_us
    return replace(course, values=values, progress_us=progress_us)


class WatchingLane(Lane):
    """A lane that reports its progress to a watermark."""

    def __init__(self, plan: Plan, watermark: Watermark, partition: int) -> None:
        super().__init__(plan, partition)
        self.watermark = watermark

    def report(self, partition: int, progress_us: int) -> None:
        held = self.watermark.lanes.get(partition, NOTHING_YET)
        self.watermark.lanes[partition] = max(held, progress_us)


# A lane that continues after it has ended. How one gets it: the end is an event of the batch, not
# part of the state.
@planted("after_end_goes_on", "dead letters, conservation, deterministic")
class EndlessLane(Lane):
    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        del ended
        return super()._sorted_out(chunk, False)


# Unreadable values that are counted for the first query only. How one gets it: a counter
# incremented per dead letter; all queries share one dead letter.
@planted("bad_values_of_one_query", "conservation", shows_in=some_query(several_queries))
class OnceLane(Lane):
    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:
        parcels = super().step(store, chunks)
        for parcel in parcels:
            if parcel.metrics is not None and parcel.dead_letters is not None:
                bad = int(from_bytes(parcel.dead_letters)["query"].null_count())
                metrics = from_bytes(parcel.metrics)
                others = (pl.col("query") != metrics["query"][0]).cast(pl.Int64) * bad
                once = (pl.col(name) - others for name in ("read", "dead"))
                parcel.metrics = to_bytes(metrics.with_columns(*once))
        return parcels


def with_holes(pipeline: Pipeline) -> bool:
    """Whether offsets may have holes; in a dense source a repeated offset is an error."""
    return not pipeline.source.dense


# A lane that detects duplicates across batches, but not within one. How one gets it: duplicates
# are looked up in the state, which is written at the end of a batch.
@planted("chunk_applied_twice", "conservation, deterministic, dead letters", shows_in=with_holes)
class CredulousLane(Lane):
    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        return chunk.filter(pl.col(OFFSET) > state.last_offset)


# Dead letters with the reason "late" for records beyond retention. How one gets it: a counter of
# late records, and a topic for them.
@planted(
    "dead_letter_of_another_reason",
    "dead letters",
    at="windowing.engine.windows.part:dead_letters",
    shows_in=some_flow(updates),
)
def just_late(query: Query, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    late = pl.lit("late", dtype=pl.String)
    return dead_letters(query, data, refused, partition).with_columns(reason=late)


# Dead letters that name the record, but not the query that rejected it. How one gets it: one
# dead-letter topic for the whole job.
@planted(
    "dead_letter_without_query",
    "dead letters",
    at="windowing.engine.windows.part:dead_letters",
    shows_in=some_flow(to_dead_letters),
)
def of_nobody(query: Query, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    nobody = pl.lit(None, dtype=pl.String)
    return dead_letters(query, data, refused, partition).with_columns(query=nobody)


def dense(pipeline: Pipeline) -> bool:
    return pipeline.source.dense


# A lane that ignores a hole, although its source is declared dense. How one gets it: a check for
# redelivery alone.
@planted("holes_go_unnoticed", "no error, deterministic", shows_in=dense)
class PorousLane(Lane):
    def _refuse_holes(self, offsets: Ints, last_offset: int) -> None:
        del offsets, last_offset


def by_text(pipeline: Pipeline, query: Flow) -> bool:
    """A text that may be null is a key."""
    fields = pipeline.source.fields
    return any(f in fields and str(fields[f]) == "string?" for f in query.key)


# Records with a null key that are grouped with those whose key is the empty string. How one gets
# it: formats or languages without null.
@planted("null_key_is_empty_text", "deterministic", shows_in=some_flow(nullable_key, by_text))
class FillingLane(Lane):
    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        rows, fields = super()._sorted_out(chunk, ended), self._source.fields
        texts = [field_column(name) for name, type_ in fields.items() if type_.kind == "string"]
        return replace(rows, data=rows.data.with_columns(pl.col(texts).fill_null("")))


# A lane that does not keep its last offset. How one gets it: trusting an at-least-once source.
@planted("offset_not_persisted", "conservation, deterministic, exactly once, dead letters")
class ForgetfulLane(Lane):
    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        state.last_offset = -1
        return state


# A lane that skips the rest of a batch after the first unreadable value. How one gets it: a `try`
# around the loop instead of inside it. A sum that overflows by the definition may not overflow
# without the lost records.
@planted("poison_takes_neighbours", "conservation, deterministic, dead letters, progress, no error")
class FragileLane(Lane):
    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        fresh = super()._fresh(chunk, state)
        return fresh.filter((pl.col(KIND) == BAD).cum_sum().shift(1, fill_value=0) == 0)


# A lane that forgets its progress when it is restarted. How one gets it: watermark generators
# without state, as Flink's are.
@planted("progress_not_persisted", "progress, deterministic, dead letters, conservation")
class AmnesicLane(Lane):
    _loaded = False

    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        if not self._loaded:
            for clock in state.clocks.values():
                clock.reached = LaneProgress()
        self._loaded = True
        return state


# A lane that silently skips records whose redelivery is an error. How one gets it: one rule for
# at-least-once sources and for all others.
@planted("redelivery_unnoticed", "nothing skipped", strict=True)
class TolerantLane(Lane):
    @property
    def redelivered(self) -> Literal["error", "skip"]:
        return "skip"

    @redelivered.setter
    def redelivered(self, value: Literal["error", "skip"]) -> None:
        del value


class GlobalLane(WatchingLane):
    """Judges by the watermark at the start of the batch."""

    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        course = super()._run(clock, rows, state, store)
        if clock != self._plan.clocks[0]:
            return course
        stood_us = self.watermark.stands_us
        self.report(self._partition, course.reached.progress_us)
        return replace(course, progress_us=np.full_like(course.progress_us, stood_us))


# Lateness judged by the stream's progress, not by the lane's own. How one gets it: a global
# watermark, as in Spark (apache/spark#56043) and Flink.
@planted(
    "stream_progress_lateness",
    "deterministic, dead letters, conservation, repeatable",
    shows_in=some_query(sliding, several_lanes),
)
def lateness_lanes(plan: Plan) -> Callable[[int], Lane]:
    watermark = Watermark(partitions=plan.lanes)
    return partial(GlobalLane, plan, watermark)


class StreamRetention(SlidingLanePart):
    """Rejects what is older than the watermark minus the retention."""

    def __init__(self, query: Query, pipeline: Pipeline, lane: RetentionLane) -> None:
        super().__init__(query, pipeline)
        self._lane = lane

    def _opened(self, progress_us: Ints) -> Frontier:
        stood = np.full_like(progress_us, self._lane.stood_us)
        kept = wids.lowered(np.minimum(stood, progress_us), self._query.retention_us or 0)
        return replace(super()._opened(progress_us), kept=self._numbering.open_from(kept))


class RetentionLane(WatchingLane):
    """Gives its assigners the watermark at the start of the batch."""

    stood_us = 0

    def __init__(self, plan: Plan, watermark: Watermark, partition: int) -> None:
        super().__init__(plan, watermark, partition)
        for flow in plan.flows:
            if type(self.parts[flow.name]) is SlidingLanePart:
                self.parts[flow.name] = StreamRetention(flow.query, plan.pipeline, self)

    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        course = super()._run(clock, rows, state, store)
        if clock != self._plan.clocks[0]:
            return course
        self.stood_us = self.watermark.stands_us
        self.report(self._partition, course.reached.progress_us)
        return course


# Retention judged by the stream's progress, not by the lane's own. How one gets it: state is
# purged by the global watermark, and accepts records until then.
@planted(
    "stream_progress_retention",
    "deterministic, dead letters, conservation, repeatable",
    shows_in=some_query(sliding, updates, several_lanes),
)
def retention_lanes(plan: Plan) -> Callable[[int], Lane]:
    watermark = Watermark(partitions=plan.lanes)
    return partial(RetentionLane, plan, watermark)
