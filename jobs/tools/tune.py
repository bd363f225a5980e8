"""Choice of the slack: its cost in late records, wrong rows and latency, on a recorded log.

A slack of K makes a record late for a window iff some earlier record of its lane was K or more
beyond the window's end; a slack of n rows, iff more than n earlier ones were at or beyond it. So no
run is needed: progress under each slack determines the records that the first row of each window
would miss, and the record that would close it.

Source: the measures are those of Li et al., SIGMOD 2005, section 6, with the number of records as
the aggregate; punctuation, which knows the log, is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl

from jobs.tools.knee import knee_of
from jobs.tools.punctuate import step_of, tightest_bounds
from jobs.tools.recording import Recording
from jobs.tools.times_in_words import round_up
from jobs.tools.tune_lanes import Withheld, before, lags, newest, where
from jobs.tools.tune_settings import first_that, knee_in_rows, rows_grid, time_grid
from jobs.tools.tune_windows import (
    TuneError,
    closings,
    first_rows,
    late_for_some,
    numbering_of,
    spans,
    weighed,
)
from windowing.engine.progress import generator_of
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import key_columns
from windowing.model import Pipeline, Query
from windowing.model.progress import Slack, SlackRows

Kind = Literal["time", "rows", "punctuation"]
Clock = Literal["event", "append"]

QUANTILES = (0.5, 0.9, 0.99, 0.999, 1.0)
_NO_RECORD = (
    "the log holds no good record, so that nothing can be said of its lateness: "
    "`slackwater run FILE --input LOG --output OUT` says what is wrong with them"
)


@dataclass(frozen=True)
class Cost:
    """The cost of one setting.

    Attributes:
        kind: slack in time or in rows, or punctuation.
        slack: microseconds or rows; None for punctuation.
        late: share of records that at least one window would miss.
        wrong: share of rows that would miss a record at first.
        missing: mean share of its records that a row would miss at first.
        latency_us: mean time from a window's end to the record that closes it; None: none closes.
        closed: share of the windows that close within the log.
    """

    kind: Kind
    slack: int | None
    late: float
    wrong: float
    missing: float
    latency_us: float | None
    closed: float


@dataclass(frozen=True)
class Tuning:
    """The result of tuning.

    Attributes:
        records: number of valid records in some window.
        lags_us: for each record, how far it is behind the newest before it in its lane; sorted.
        target: the requested share of late records.
        costs: costs of several settings, time first, then rows, each rising, then punctuation.
        slack_us, slack_rows: the smallest that keep the late share within the target, the first
            rounded up to two digits.
        knee_us, knee_rows: the knee of the curve up to there, beyond which more slack gains little
            for its latency; None: there is no knee.
        silent: lanes without a record, which hold every window open.
        left_out: queries that are not weighed.
    """

    records: int
    lags_us: Ints
    target: Fraction
    costs: tuple[Cost, ...]
    slack_us: int
    slack_rows: int
    knee_us: int | None
    knee_rows: int | None
    silent: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def cost_of(self, kind: Kind, slack: int) -> Cost:
        """Return the cost of a setting."""
        return next(cost for cost in self.costs if (cost.kind, cost.slack) == (kind, slack))


def tune(
    pipeline: Pipeline,
    recording: Recording,
    target: Fraction,
    *,
    clock: Clock = "event",
    progress: Callable[[], None] = lambda: None,
) -> Tuning:
    """Compare slacks on a recorded log.

    Args:
        pipeline: its windows, late modes and keys matter; its generator does not.
        target: the share of late records to stay within.
        clock: latency is measured by the newest event time so far, or by the broker's append time.
        progress: called for each setting.

    Raises:
        TuneError: no records, or unknown append times.
        UnitError: rows are counted as they arrive, and a unit arrives in two lanes.
    """
    scale = Scale(pipeline, recording, clock)
    step_us = step_of(pipeline)
    slack_us = scale.proposed_time(target)
    slack_rows = scale.least_rows(target)
    knee_us = _knee_in_time(scale, slack_us, target)
    times = time_grid(scale.needed_us, {slack_us, knee_us or 0})
    settings: list[Slack | SlackRows] = [*map(Slack, times)]
    settings += map(SlackRows, rows_grid(scale.least_rows(Fraction(0)), slack_rows))
    costs: list[Cost] = []
    for setting in settings:
        costs.append(scale.cost(setting))
        progress()
    costs.append(scale.punctuated(step_us))
    in_rows = [(cost.slack, cost.late) for cost in costs if cost.kind == "rows"]
    silent = [pipeline.source.lane(p) for p, lane in recording.lanes.items() if lane.is_empty()]
    return Tuning(
        records=scale.records,
        lags_us=scale.lags_us(),
        target=target,
        costs=tuple(costs),
        slack_us=slack_us,
        slack_rows=slack_rows,
        knee_us=knee_us,
        knee_rows=knee_in_rows(in_rows, slack_rows, scale.least_share(target)),
        silent=tuple(silent),
        left_out=scale.left_out,
    )


class Scale:
    """Computes the cost of settings on one log.

    Attributes:
        lanes: the valid records of the lanes that have any, those withheld, too; `place` is their
            position in arrival order.
        records: number of records in some window if nothing is late.
        left_out: the names of queries that are not weighed: they have windows of a plug-in.
        needed_us: for each of these that some slack leaves late, the largest such slack; sorted.
    """

    def __init__(self, pipeline: Pipeline, recording: Recording, clock: Clock) -> None:
        self._pipeline = pipeline
        if pipeline.join is not None:
            msg = "a join has no windows that records go into: nothing can be weighed"
            raise TuneError(msg)
        self._queries, left_out = weighed(pipeline)
        self.left_out = tuple(query.name for query in left_out)
        self._silent = any(
            lane.is_empty() and partition not in recording.ended
            for partition, lane in recording.lanes.items()
        )
        parts = [
            lane.with_columns(partition=pl.lit(partition, dtype=pl.Int32))
            for partition, lane in recording.lanes.items()
        ]
        order = ["append_us", "partition", "offset"] if clock == "append" else ["arrival"]
        whole = pl.concat(parts).sort(order).with_row_index("place")
        if whole.is_empty():
            raise TuneError(_NO_RECORD)
        self._clock_us = _clock(whole, clock)
        by_lane = whole.partition_by("partition", as_dict=True, maintain_order=True)
        self._names = {number: pipeline.source.lane(number) for (number,) in by_lane}
        self.lanes = list(by_lane.values())
        self._ends = {
            partition: int((whole["arrival"] < arrival).sum())
            for partition, arrival in recording.ended.items()
        }
        self._withheld = Withheld(pipeline.source)
        self._seen = [
            self._withheld.seen(lane, np.full(len(lane), NOTHING_YET)) for lane in self.lanes
        ]
        seen = where(self.lanes, self._seen).sort("place")
        asked = [] if seen.is_empty() else self._queries
        self._truth = [first_rows(pipeline, query, seen, None) for query in asked]
        if all(truth.is_empty() for truth in self._truth):
            msg = "no window holds a record of the log: nothing can be said of their lateness"
            raise TuneError(msg)
        self._closings = [
            closings(query, seen, truth)
            for query, truth in zip(self._queries, self._truth, strict=True)
        ]
        inside, needed = zip(*map(self._needed, self.lanes), strict=True)
        kept = np.concatenate(self._seen)
        self.records = int((np.concatenate(inside) & kept).sum())
        if not self.records:
            msg = "no record of the log lies in any window: nothing can be said of its lateness"
            raise TuneError(msg)
        self._all_needed = np.concatenate(needed)
        self.needed_us = np.sort(self._all_needed[(self._all_needed >= 0) & kept])

    def _needed(self, lane: pl.DataFrame) -> tuple[np.ndarray, Ints]:
        """Find the records in windows, and the largest slack that leaves each late, or -1."""
        ts_us, newest_us = lane["ts_us"].to_numpy(), newest(lane)
        inside = np.zeros(len(lane), dtype=bool)
        needed = np.full(len(lane), -1, dtype=np.int64)
        for query in self._queries:
            first, last = spans(query, ts_us)
            within = first <= last
            inside |= within
            end_us = numbering_of(query).ends(first)
            reaches = within & (newest_us >= end_us)
            needed[reaches] = np.maximum(needed[reaches], newest_us[reaches] - end_us[reaches])
        return inside, needed

    def least_time(self, target: Fraction) -> int:
        """Find the smallest slack in time that keeps the late share within the target."""
        if self._withheld.within_us is not None:
            turns = self._turns(self._withheld.within_us)
            return turns[
                first_that(len(turns) - 1, lambda n: self._is_within(target, Slack(turns[n])))
            ]
        allowed = int(target * self.records)
        if allowed >= len(self.needed_us):
            return 0
        return int(self.needed_us[len(self.needed_us) - 1 - allowed]) + 1

    def proposed_time(self, target: Fraction) -> int:
        """Return the same, rounded up to two digits, unless that makes other duplicates late."""
        least = self.least_time(target)
        rounded = round_up(least)
        return rounded if self._is_within(target, Slack(rounded)) else least

    def _turns(self, within_us: int) -> list[int]:
        """Return the slacks in time from which on other records are late, or duplicates."""
        far = np.concatenate([*map(lags, self.lanes)]) - within_us
        turns = np.concatenate(([-1], self._all_needed, far))
        return [int(slack) for slack in np.unique(turns[turns >= -1] + 1)]

    def late_share(self, slacks_us: Ints) -> np.ndarray:
        """Return the share of late records under each of several slacks in time."""
        in_time = np.searchsorted(self.needed_us, slacks_us, "left")
        return (len(self.needed_us) - in_time) / self.records

    def least_share(self, target: Fraction) -> float:
        """Return the smallest share distinguished from zero: the target, or half a record."""
        return max(float(target), 0.5 / self.records)

    def least_rows(self, target: Fraction) -> int:
        """Find the smallest slack in rows that keeps the late share within the target."""
        return first_that(
            max(map(len, self.lanes)), lambda n: self._is_within(target, SlackRows(n))
        )

    def _is_within(self, target: Fraction, setting: Slack | SlackRows) -> bool:
        late = sum(
            int(self._late(lane, before(self._after(lane, setting))).sum()) for lane in self.lanes
        )
        return late <= target * self.records

    def lags_us(self) -> Ints:
        """Return how far each record that windows see is behind the newest before it; sorted."""
        return np.sort(np.concatenate([*map(lags, self.lanes)])[np.concatenate(self._seen)])

    def _late(self, lane: pl.DataFrame, before_us: Ints) -> np.ndarray:
        """Return which of the records that windows see are late for some."""
        late = np.zeros(len(lane), dtype=bool)
        for query in self._queries:
            late |= late_for_some(query, lane["ts_us"].to_numpy(), before_us)
        return late & self._withheld.seen(lane, before_us)

    def _after(self, lane: pl.DataFrame, setting: Slack | SlackRows) -> Ints:
        generator = generator_of(setting, self._names[lane["partition"][0]])
        return np.maximum.accumulate(generator.bounds(lane, []))

    def cost(self, setting: Slack | SlackRows) -> Cost:
        """Return the cost of a slack."""
        after = [self._after(lane, setting) for lane in self.lanes]
        if isinstance(setting, Slack):
            return self._cost("time", setting.slack_us, after)
        return self._cost("rows", setting.rows, after)

    def punctuated(self, step_us: int) -> Cost:
        """Return the cost of the tightest bounds that hold for the log."""
        after = [tightest_bounds(lane["ts_us"].to_numpy(), step_us) for lane in self.lanes]
        return self._cost("punctuation", None, after)

    def _cost(self, kind: Kind, slack: int | None, after: Sequence[Ints]) -> Cost:
        progress_us = [before(progress) for progress in after]
        pairs = list(zip(self.lanes, progress_us, strict=True))
        late = sum(int(self._late(lane, progress).sum()) for lane, progress in pairs)
        seen = [self._withheld.seen(lane, progress) for lane, progress in pairs]
        records, known_us = (
            where(self.lanes, seen),
            np.concatenate(progress_us)[np.concatenate(seen)],
        )
        compared = pl.concat(
            _compared(query, truth, first_rows(self._pipeline, query, records, known_us))
            for query, truth in zip(self._queries, self._truth, strict=True)
        )
        latency_us, closed = self._latency(after)
        return Cost(
            kind=kind,
            slack=slack,
            late=late / self.records,
            wrong=float(compared["wrong"].to_numpy().mean()),
            missing=float(compared["missing"].to_numpy().mean()),
            latency_us=latency_us,
            closed=closed,
        )

    def _latency(self, after: Sequence[Ints]) -> tuple[float | None, float]:
        """Return the mean latency of the windows that close, and their share."""
        places = len(self._clock_us)
        stream = np.full(places + 1, ENDED, dtype=np.int64)
        if self._silent:
            stream[:] = NOTHING_YET
        for lane, progress in zip(self.lanes, after, strict=True):
            steps = np.full(places + 1, NOTHING_YET, dtype=np.int64)
            steps[lane["place"].to_numpy()] = progress
            ended = self._ends.get(lane["partition"][0])
            if ended is not None:
                steps[min(ended, places)] = ENDED
            stream = np.minimum(stream, np.maximum.accumulate(steps))
        clock_us = np.append(self._clock_us, self._clock_us[-1])
        waits: list[np.ndarray] = []
        windows = 0
        for ends, closes in self._closings:
            closing = np.searchsorted(stream, closes)
            reached = closing <= places
            waits.append((clock_us[closing[reached]] - ends[reached]).astype(np.float64))
            windows += len(ends)
        waited = np.concatenate(waits)
        return (float(waited.mean()) if len(waited) else None), len(waited) / windows


def _clock(whole: pl.DataFrame, clock: Clock) -> Ints:
    if clock == "event":
        return np.maximum.accumulate(whole["ts_us"].to_numpy())
    if whole["append_us"].null_count():
        msg = "--clock append needs the append time of every record; use --clock event"
        raise TuneError(msg)
    return whole["append_us"].to_numpy()


def _compared(query: Query, truth: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Compare each true row with the first one: whether it is `wrong`, and the share `missing`."""
    on = ["wid", *key_columns(query)]
    joined = truth.join(found, on=on, how="left", nulls_equal=True, suffix="_found")
    held, ids = pl.col("n_found").fill_null(0), pl.col("ids_found").fill_null(-1)
    return joined.select(
        wrong=(held != pl.col("n")) | (ids != pl.col("ids")),
        missing=1 - pl.min_horizontal(held, "n") / pl.col("n"),
    )


def _knee_in_time(scale: Scale, slack_us: int, target: Fraction) -> int | None:
    """Find the knee of the curve between no slack and one that meets the target, rounded."""
    needed = scale.needed_us[scale.needed_us < slack_us]
    slacks = np.unique(np.concatenate(([0], needed + 1, [slack_us])))
    late = np.maximum(scale.late_share(slacks), scale.least_share(target))
    at = knee_of(slacks, late)
    knee_us = None if at is None else round_up(int(slacks[at]))
    return knee_us if knee_us is not None and knee_us < slack_us else None
