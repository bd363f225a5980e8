"""The engine's half of our generators of progress: records in, bounds out."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort

import numpy as np
import polars as pl

from windowing.engine.columns import TIME, field_column
from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import NOTHING_YET, Ints, lowered
from windowing.model import progress
from windowing.model.lengths import INT64_MIN


@lane_generator(progress.Slack.name, memoryless=True)
class SlackTime(OwnRecords):
    """Bounded disorder: none older than a record's time minus the slack follows it.

    `ordered` is a slack of zero.
    """

    def __init__(self, data: progress.Slack, lane: str) -> None:
        del lane
        self._slack_us = data.slack_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        return lowered(records[TIME].to_numpy(), self._slack_us)


@lane_generator(progress.SlackRows.name)
class SlackRows(OwnRecords):
    """Slack in rows: the bound is what leaves a sorting buffer of n rows.

    That is the (n+1)-th largest time. Its memory is the n largest times, as a heap.

    Source: Aurora's BSort, as Li et al., SIGMOD 2005, use it.
    """

    def __init__(self, data: progress.SlackRows, lane: str) -> None:
        del lane
        self._rows = data.rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record: the time that it pushes out of the full heap."""
        times = records[TIME].to_list()
        filling = max(self._rows - len(memory), 0)
        for ts_us in times[:filling]:
            heapq.heappush(memory, ts_us)
        let_go = [heapq.heappushpop(memory, ts_us) for ts_us in times[filling:]]
        bounds = [NOTHING_YET] * (len(times) - len(let_go)) + let_go
        return np.array(bounds, dtype=np.int64)


@lane_generator(progress.Adaptive.name)
class Adaptive(OwnRecords):
    """Slack that would have kept the late share of recent records under a target.

    The lag of a record is its distance behind the newest record before it. The slack K is the
    smallest lag that at most the target share of the last N records exceed; the bound is the
    record's time minus K. Its memory is the newest time and the lags of the last N records, oldest
    first.
    """

    def __init__(self, data: progress.Adaptive, lane: str) -> None:
        del lane
        self._late, self._over = data.late, data.over_rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        times = records[TIME].to_list()
        if not times:
            return np.empty(0, dtype=np.int64)
        newest, lags = (memory[0], memory[1:]) if memory else (times[0], [])
        ranked = sorted(lags)
        bounds = np.empty(len(times), dtype=np.int64)
        for number, ts_us in enumerate(times):
            newest = max(newest, ts_us)
            lags.append(newest - ts_us)
            insort(ranked, lags[-1])
            if len(ranked) > self._over:
                del ranked[bisect_left(ranked, lags[-self._over - 1])]
            exceeding = self._late.numerator * len(ranked) // self._late.denominator
            bounds[number] = max(ts_us - ranked[-1 - exceeding], INT64_MIN)
        memory[:] = [newest, *lags[-self._over :]]
        return bounds


@lane_generator(progress.OrderedPer.name)
class OrderedPer(OwnRecords):
    """Known sorted sub-streams: the lane's bound is that of the furthest behind.

    If the sub-streams are not known, progress is per sub-stream, which the clock computes. Its
    memory is the newest time of each; `NOTHING_YET`: not seen yet.
    """

    def __init__(self, data: progress.OrderedPer, lane: str) -> None:
        self._attr = data.attr
        self._members = () if data.members is None else dict(data.members)[lane]

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the smallest of the members' newest times; no bound until all were seen."""
        if not self._members:
            return np.full(len(records), NOTHING_YET, dtype=np.int64)
        if not memory:
            memory[:] = [NOTHING_YET] * len(self._members)
        ts_us, named = records[TIME].to_numpy(), records[field_column(self._attr)]
        behind = np.full(len(records), np.iinfo(np.int64).max)
        for number, member in enumerate(self._members):
            own = (named == member).fill_null(value=False).to_numpy()
            newest = np.maximum.accumulate(np.where(own, ts_us, NOTHING_YET))
            newest = np.maximum(newest, memory[number])
            behind = np.minimum(behind, newest)
            if len(newest):
                memory[number] = int(newest[-1])
        return behind


@lane_generator(progress.Heartbeat.name, memoryless=True)
class Heartbeat:
    """Bounds from the delays of records and the errors of clocks.

    If a lane's clock is off by up to s, and its records take between l and L, a record gives the
    same bound as a slack of L - l + 2s. A heartbeat which shows that true time has reached T
    promises that nothing older than T - L - s follows.

    Source: Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004.
    """

    def __init__(self, data: progress.Heartbeat, lane: str) -> None:
        delays = dict(data.sources)[lane]
        self._own_us = delays.max_delay_us - delays.min_delay_us + 2 * delays.skew_us
        self._behind_us = delays.max_delay_us + delays.skew_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        return lowered(records[TIME].to_numpy(), self._own_us)

    def observed(self, instants_us: Ints) -> Ints:
        """Return the bounds once true time has reached these instants."""
        return lowered(instants_us, self._behind_us)


@lane_generator(progress.Punctuation.name, memoryless=True)
class Punctuation(OwnRecords):
    """No bounds by data records; the clock handles those of control records, also per key."""

    def __init__(self, data: progress.Punctuation, lane: str) -> None:
        del data, lane

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return no bounds."""
        return np.full(len(records), NOTHING_YET, dtype=np.int64)
