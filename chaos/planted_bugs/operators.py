"""Bugs in operators over policy windows, and in what hosts them."""

from __future__ import annotations

from bisect import insort_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from msgspec import structs

from chaos.planted_bugs.conditions import (
    canonical,
    numbered_by_lane_or_key,
    several_lanes,
    some_operators,
    whole_windows_only,
    with_window,
)
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AT, OFFSET, OVERFLOW, PARTITION, VALUES, field_column
from windowing.engine.progress.reached import Progress, StreamProgress
from windowing.engine.rows import stages
from windowing.engine.rows.operators import Aggregate, Dedup
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.rows.operators.user import Handle
from windowing.engine.rows.part import RowShardPart, unit_columns
from windowing.engine.rows.policies import Marker, TumblingWindow
from windowing.engine.rows.policies.events import Key, Row
from windowing.engine.rows.policies.partitions import Partitions, choose, needed
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.engine.rows.policies.window import DueAction, crosses
from windowing.engine.rows.report_rows import ReportRows
from windowing.engine.rows.stages import Place, RecordTuple, Stage
from windowing.engine.rows.units import Report, UnitHost, Units
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, DedupStep, SortStep, UserStep
from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    Profile,
    Selection,
    Time,
    TupleCount,
)


def needed_at_once(
    policy: PartitionEviction, parts: Partitions, now_us: int, profile: Profile
) -> bool:
    """Return whether a partition is as old as it may be."""
    return needed(_sooner(policy), parts, now_us, profile)


# Partitions that are evicted when they are exactly as old as they may be. How one gets it: an age
# limit is read as the first age that is too much.
@planted(
    "age_is_inclusive",
    "deterministic",
    at="windowing.engine.rows.policies.window:choose",
    also={"windowing.engine.rows.policies.window:needed": needed_at_once},
    shows_in=some_operators(with_window(partitions=(PartitionAge,))),
)
def chosen_at_once(
    policy: PartitionEviction,
    selection: Selection,
    parts: Partitions,
    now_us: int,
    profile: Profile,
) -> list[Key]:
    return choose(_sooner(policy), selection, parts, now_us, profile)


def _sooner(policy: PartitionEviction) -> PartitionEviction:
    return replace(policy, age_us=policy.age_us - 1) if isinstance(policy, PartitionAge) else policy


# Trigger counters that outlive the eviction of their partition. How one gets it: counters are
# kept beside the partitions, for the sake of time evictions.
@planted(
    "counter_survives_its_partition",
    "deterministic",
    at="windowing.engine.rows.operators.operator:SlidingWindow",
    shows_in=some_operators(
        with_window(
            "sliding",
            trigger=(Count,),
            partitions=(PartitionCount, TupleCount, PartitionAge),
            step=(AggregateStep,),
        )
    ),
)
class CountingWindow(SlidingWindow):
    def _give_up(self, key: Key) -> None:
        marks = self._marks.get(key)
        super()._give_up(key)
        if marks is not None:
            marks.full = False
            self._marks[key] = marks


# A Dedup whose window holds only what it has sent. How one gets it: a filter in front of the
# window saves memory.
@planted(
    "duplicates_are_not_stored",
    "deterministic",
    at="windowing.engine.rows.stages:Dedup",
    shows_in=some_operators(with_window(step=(DedupStep,))),
)
class FilteringDedup(Dedup):
    def insert(self, row: Tuple, port: int = 0) -> bool:
        same = [row[name] for name in self._by]
        stored = self._window.rows(self._window._key_of(row)) or []
        if any([other[name] for name in self._by] == same for other in stored):
            return True
        return super().insert(row, port)


# Deltas that an equal difference crosses. How one gets it: a threshold is read as the first value
# outside.
@planted(
    "equality_crosses",
    "deterministic",
    at=(
        "windowing.engine.rows.policies.sliding:crosses",
        "windowing.engine.rows.policies.tumbling:crosses",
    ),
    shows_in=some_operators(with_window(eviction=(Delta,))),
)
def crosses_inclusively(policy: Delta, new: Row, old: Row) -> bool:
    name = policy.attribute
    return crosses(policy, new, old) or bool(
        new[name] > old[name] and new[name] - old[name] == policy.threshold
    )


# Tuples that a report still shows although a new one has displaced them. How one gets it: a
# window is tidied once the operator has seen it.
@planted(
    "evicted_after_the_report",
    "deterministic",
    at="windowing.engine.rows.operators.operator:SlidingWindow",
    shows_in=some_operators(
        with_window("sliding", (Delta,), (Count,), step=(AggregateStep, UserStep))
    ),
)
class TidyingWindow(SlidingWindow):
    def __init__(self, eviction: Policy, trigger: Policy, **more: Any) -> None:
        super().__init__(eviction, trigger, **more)
        if isinstance(eviction, Delta) and isinstance(trigger, Count):
            self._steps = [self._fill, self._take, self._report, self._evict]
            self._inserted_at = 1


# Tuples that leave a window by time as soon as their time is up. How one gets it:
# `now - arrival >= period`.
@planted(
    "expired_at_the_instant",
    "deterministic",
    at="windowing.engine.rows.operators.operator:SlidingWindow",
    shows_in=some_operators(with_window("sliding", eviction=(Time,))),
)
class PunctualWindow(SlidingWindow):
    def next_due(self) -> DueAction | None:
        due, earliest = super().next_due(), self._deadlines.earliest()
        if due is None or earliest is None or earliest[0] > due[0]:
            return due
        due_us, key = earliest
        return due_us, True, lambda: self._outlive(key, due_us)


# An Aggregate that reports what it holds at the end of the stream. How one gets it: most other
# engines do so.
@planted(
    "final_marker_flushes",
    "deterministic",
    at="windowing.engine.rows.stages:Aggregate",
    shows_in=some_operators(with_window("tumbling", step=(AggregateStep,))),
)
class FlushingAggregate(Aggregate):
    def punctuate(self, marker: Marker, port: int = 0) -> None:
        super().punctuate(marker, port)
        if marker is Marker.final and isinstance(self._window, TumblingWindow):
            for key in self._window.keys:
                self._send_groups(key)


# An Aggregate that forgets over a restart which windows were full. How one gets it: they belong
# to the operator, and only its window's state is saved.
@planted(
    "full_mark_not_restored",
    "deterministic",
    at="windowing.engine.rows.stages:Aggregate",
    shows_in=some_operators(whole_windows_only),
)
class ForgetfulAggregate(Aggregate):
    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        super().restore({**snapshot, "full": []}, timers=timers)


# Units that lose the records they hold while others are processed. How one gets it: what is kept
# is collected from the running units.
@planted(
    "idle_units_lose_records",
    "no error",
    at="windowing.engine.rows.part:Units",
    shows_in=some_operators(numbered_by_lane_or_key),
)
class ForgetfulUnits(Units):
    def __init__(self, *arguments: Any, **tables: Any) -> None:
        super().__init__(*arguments, **tables)
        self._stays[:] = False


# Records that operators process as soon as progress reaches them. How one gets it: progress is
# read as the newest time that is complete.
@planted("processed_at_progress", "deterministic, closing", shows_in=some_operators(canonical))
class HastyShardPart(RowShardPart):
    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        assert isinstance(after, StreamProgress)  # noqa: S101 - operators go by event time
        lanes = [
            structs.replace(lane, progress_us=min(lane.progress_us + 1, ENDED))
            for lane in after.lanes
        ]
        return super().advance(tables, replace(after, lanes=lanes), wall_us)

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        due_us = super().next_due_us(tables, after)
        return due_us if due_us == ENDED else due_us - 1


class LateStage(Stage):
    """A stage whose tuples precede its timers."""

    def insert(self, row: Tuple, now_us: int) -> None:
        """Process a tuple at an instant, then what was due before it."""
        super().insert(row, self._clock.now_us)
        self.tick(now_us)


# Records that enter a window before what was due by then is done. How one gets it: timers are
# looked at once per loop, at its end.
@planted(
    "record_before_its_tick",
    "deterministic",
    at="windowing.engine.rows.units:UnitHost",
    also={"windowing.engine.rows.units:Stage": LateStage},
    shows_in=some_operators(with_window("sliding", trigger=(Time,))),
)
class LateHost(UnitHost):
    def feed(self, rows: Iterable[RecordTuple], at_us: Iterable[int]) -> None:
        for row, us in zip(rows, at_us, strict=True):
            self.clock_us = max(self.clock_us, us)
            self._stages[0].insert(row, self.clock_us)


# Reports that are numbered from zero again after a restart. How one gets it: the counter belongs
# to the host, and only operators are saved.
@planted(
    "reports_numbered_anew",
    "deterministic, exactly once",
    at="windowing.engine.rows.units:UnitHost",
    shows_in=some_operators(),
)
class RenumberingHost(UnitHost):
    @classmethod
    def restored(
        cls,
        query: OperatorQuery,
        event_time: str,
        state: str,
        record: Callable[[Place], RecordTuple],
    ) -> UnitHost:
        host = super().restored(query, event_time, state, record)
        host._number = 0
        return host


# A Sort that puts equal tuples in the opposite order of their arrival. How one gets it: the other
# one of two functions of binary search.
planted(
    "sort_is_not_stable",
    "deterministic",
    at="windowing.engine.rows.operators.sort:insort_right",
    shows_in=some_operators(with_window("sliding", step=(SortStep,))),
)(insort_left)


# Partitions that a tick of the trigger renews, as if a tuple had come. How one gets it: the
# access order of a cache, which reads renew too.
@planted(
    "ticks_renew_partitions",
    "deterministic",
    at="windowing.engine.rows.operators.operator:SlidingWindow",
    shows_in=some_operators(with_window("sliding", trigger=(Time,), partitions=(PartitionAge,))),
)
class RenewingWindow(SlidingWindow):
    def _tick(self) -> None:
        super()._tick()
        for key in self._partitions.updated_us:
            self._partitions.updated_us[key] = self._clock.now_us


# Records of equal time that operators process by offset, ignoring the partition. How one gets it:
# one partition on the developer's machine.
@planted(
    "ties_by_offset",
    "deterministic",
    at="windowing.engine.rows.part:Units",
    shows_in=some_operators(canonical, several_lanes),
)
class UnitsByOffset(Units):
    def __init__(self, query: OperatorQuery, *more: Any, new: pl.DataFrame, **tables: Any) -> None:
        if query.order == "canonical":
            new = new.sort(AT, OFFSET, PARTITION)
        super().__init__(query, *more, new=new, **tables)


# Timers that start again with every batch. How one gets it: the paper's checkpoint, which does
# not save the phase of timers.
@planted(
    "timer_not_restored",
    "deterministic, exactly once",
    at="windowing.engine.rows.units:Stage",
    shows_in=some_operators(with_window("sliding", trigger=(Time,))),
)
class ForgetfulStage(Stage):
    def restore(self, snapshot: dict[str, Any], now_us: int) -> None:
        self._clock.now_us = now_us
        self._operator.restore(snapshot)


# Partitions with their own windows although evictions look at all partitions. How one gets it:
# records are sent to the shard of their key, as those of other windows are.
@planted(
    "unit_of_a_partition",
    "deterministic, exactly once",
    at="windowing.engine.rows.part:unit_columns",
    shows_in=some_operators(with_window(partitions=(PartitionAge, PartitionCount, TupleCount))),
)
def columns_of_partition(query: OperatorQuery) -> list[str]:
    by = query.last.window.partition_by
    return list(dict.fromkeys([*unit_columns(query), *map(field_column, by)]))


# A call of a handler that fails sends no row. How one gets it: what raised is caught and forgotten.
@planted(
    "failed_handler_sends_nothing",
    "deterministic",
    at="windowing.engine.rows.stages:_calling",
    shows_in=some_operators(with_window(step=(UserStep,))),
)
def failing_silently(step: UserStep) -> Handle:
    handle = _calling(step)

    def silent(name: str, key: Key, rows: Sequence[Tuple], row: Tuple | None) -> Iterable[Tuple]:
        return [sent for sent in handle(name, key, rows, row) if sent[VALUES] is not None]

    return silent


# The row of a call that failed has nulls, and does not say so. How one gets it: only aggregates
# have a mark.
@planted(
    "failed_handler_unmarked",
    "deterministic",
    at="windowing.engine.rows.report_rows:ReportRows._single",
    shows_in=some_operators(with_window(step=(UserStep,))),
)
def unmarked(
    self: ReportRows, reports: Sequence[Report], held: pl.DataFrame, known: pl.DataFrame
) -> pl.DataFrame:
    return _single(self, reports, held, known).drop(OVERFLOW, strict=False)


_calling, _single = stages._calling, ReportRows._single
