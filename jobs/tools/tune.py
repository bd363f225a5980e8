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
from jobs.tools.tune_windows import closings, first_rows, late_for_some, numbering_of, spans
from windowing.engine.plan import closing_by_event_time, plan_of
from windowing.engine.progress import generator_of
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import key_columns
from windowing.model import Pipeline, Query
from windowing.model.fates import withheld
from windowing.model.progress import Slack, SlackRows
from windowing.model.windows.traits import Ends

Kind = Literal["time", "rows", "punctuation"]
Clock = Literal["event", "append"]

QUANTILES = (0.5, 0.9, 0.99, 0.999, 1.0)
_GRID = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
_NO_RECORD = (
    "the log holds no good record, so that nothing can be said of its lateness: "
    "`slackwater run FILE --input LOG --output OUT` says what is wrong with them"
)
_WITHHELD = "records that are {} cannot be weighed: tune a copy of the file that takes all"


class TuneError(ValueError):
    """A log or pipeline without a choice of slack."""

    exit_code = 1


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
    slack_us = round_up(scale.least_time(target))
    slack_rows = scale.least_rows(target)
    knee_us = _knee_in_time(scale, slack_us, target)
    times = _time_grid(scale.needed_us, {slack_us, knee_us or 0})
    settings: list[Slack | SlackRows] = [*map(Slack, times)]
    settings += map(SlackRows, _rows_grid(scale.least_rows(Fraction(0)), slack_rows))
    costs: list[Cost] = []
    for setting in settings:
        costs.append(scale.cost(setting))
        progress()
    costs.append(scale.punctuated(step_us))
    silent = [pipeline.source.lane(p) for p, lane in recording.lanes.items() if lane.is_empty()]
    lags = [_lags(lane["ts_us"].to_numpy()) for lane in scale.lanes]
    return Tuning(
        records=scale.records,
        lags_us=np.sort(np.concatenate(lags)),
        target=target,
        costs=tuple(costs),
        slack_us=slack_us,
        slack_rows=slack_rows,
        knee_us=knee_us,
        knee_rows=_knee_in_rows(costs, slack_rows, scale.least_share(target)),
        silent=tuple(silent),
        left_out=scale.left_out,
    )


class Scale:
    """Computes the cost of settings on one log.

    Attributes:
        lanes: the valid records of the lanes that have any; `place` is their position in arrival
            order.
        records: number of records in some window.
        left_out: the names of queries that are not weighed: they have windows of a plug-in.
        needed_us: for each record that some slack leaves late, the largest such slack; sorted.
    """

    def __init__(self, pipeline: Pipeline, recording: Recording, clock: Clock) -> None:
        self._pipeline = pipeline
        if not pipeline.one_topic:
            msg = "a join has no windows that records go into: nothing can be weighed"
            raise TuneError(msg)
        if kept := withheld(pipeline.source.fates):
            raise TuneError(_WITHHELD.format(" or ".join(kept)))
        self._queries = [flow.query for flow in closing_by_event_time(plan_of(pipeline))]
        if not self._queries:
            msg = "no query goes by event time: its slack means nothing to them"
            if not pipeline.windows:
                msg = "operators have no windows that close at a time, so nothing can be weighed: "
                msg += "the slack must exceed how far a record may be behind the newest of its lane"
            raise TuneError(msg)
        own = [
            query
            for query in self._queries
            if query.window.traits.ends is Ends.NUMBERED and not query.window.traits.periodic
        ]
        self.left_out = tuple(query.name for query in own)
        self._queries = [query for query in self._queries if query not in own]
        if not self._queries:
            msg = (
                f"query {own[0].name} has windows of a plug-in, and only those of the language are "
                "weighed: give the slack by how far a record may be behind the newest of its lane"
            )
            raise TuneError(msg)
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
        self._truth = [first_rows(pipeline, query, whole, None) for query in self._queries]
        if all(truth.is_empty() for truth in self._truth):
            msg = "no window holds a record of the log: nothing can be said of their lateness"
            raise TuneError(msg)
        self._closings = [
            closings(query, whole, truth)
            for query, truth in zip(self._queries, self._truth, strict=True)
        ]
        inside, needed = zip(*map(self._needed, self.lanes), strict=True)
        self.records = int(sum(part.sum() for part in inside))
        if not self.records:
            msg = "no record of the log lies in any window: nothing can be said of its lateness"
            raise TuneError(msg)
        all_needed = np.concatenate(needed)
        self.needed_us = np.sort(all_needed[all_needed >= 0])

    def _needed(self, lane: pl.DataFrame) -> tuple[np.ndarray, Ints]:
        """Find the records in windows, and the largest slack that leaves each late, or -1."""
        ts_us = lane["ts_us"].to_numpy()
        newest = np.concatenate(([np.int64(NOTHING_YET)], np.maximum.accumulate(ts_us)[:-1]))
        inside = np.zeros(len(lane), dtype=bool)
        needed = np.full(len(lane), -1, dtype=np.int64)
        for query in self._queries:
            first, last = spans(query, ts_us)
            within = first <= last
            inside |= within
            end_us = numbering_of(query).ends(first)
            reaches = within & (newest >= end_us)
            needed[reaches] = np.maximum(needed[reaches], newest[reaches] - end_us[reaches])
        return inside, needed

    def least_time(self, target: Fraction) -> int:
        """Find the smallest slack in time that keeps the late share within the target."""
        allowed = int(target * self.records)
        if allowed >= len(self.needed_us):
            return 0
        return int(self.needed_us[len(self.needed_us) - 1 - allowed]) + 1

    def late_share(self, slacks_us: Ints) -> np.ndarray:
        """Return the share of late records under each of several slacks in time."""
        in_time = np.searchsorted(self.needed_us, slacks_us, "left")
        return (len(self.needed_us) - in_time) / self.records

    def least_share(self, target: Fraction) -> float:
        """Return the smallest share distinguished from zero: the target, or half a record."""
        return max(float(target), 0.5 / self.records)

    def least_rows(self, target: Fraction) -> int:
        """Find the smallest slack in rows that keeps the late share within the target."""
        low, high = 0, max(map(len, self.lanes))
        while low < high:
            middle = (low + high) // 2
            late = sum(
                self._late(lane, _before(self._after(lane, SlackRows(middle)))).sum()
                for lane in self.lanes
            )
            if late <= target * self.records:
                high = middle
            else:
                low = middle + 1
        return low

    def _late(self, lane: pl.DataFrame, before_us: Ints) -> np.ndarray:
        late = np.zeros(len(lane), dtype=bool)
        for query in self._queries:
            late |= late_for_some(query, lane["ts_us"].to_numpy(), before_us)
        return late

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
        before = [_before(progress) for progress in after]
        pairs = list(zip(self.lanes, before, strict=True))
        late = sum(int(self._late(lane, progress).sum()) for lane, progress in pairs)
        records, progress_us = pl.concat(self.lanes), np.concatenate(before)
        compared = pl.concat(
            _compared(query, truth, first_rows(self._pipeline, query, records, progress_us))
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


def _before(after: Ints) -> Ints:
    return np.concatenate(([np.int64(NOTHING_YET)], after[:-1]))


def _compared(query: Query, truth: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Compare each true row with the first one: whether it is `wrong`, and the share `missing`."""
    on = ["wid", *key_columns(query)]
    joined = truth.join(found, on=on, how="left", nulls_equal=True, suffix="_found")
    held, ids = pl.col("n_found").fill_null(0), pl.col("ids_found").fill_null(-1)
    return joined.select(
        wrong=(held != pl.col("n")) | (ids != pl.col("ids")),
        missing=1 - pl.min_horizontal(held, "n") / pl.col("n"),
    )


def _lags(ts_us: Ints) -> Ints:
    return np.maximum.accumulate(ts_us) - ts_us


def _knee_in_time(scale: Scale, slack_us: int, target: Fraction) -> int | None:
    """Find the knee of the curve between no slack and one that meets the target, rounded."""
    needed = scale.needed_us[scale.needed_us < slack_us]
    slacks = np.unique(np.concatenate(([0], needed + 1, [slack_us])))
    late = np.maximum(scale.late_share(slacks), scale.least_share(target))
    at = knee_of(slacks, late)
    knee_us = None if at is None else round_up(int(slacks[at]))
    return knee_us if knee_us is not None and knee_us < slack_us else None


def _knee_in_rows(costs: Sequence[Cost], slack_rows: int, least: float) -> int | None:
    """Find the knee among the slacks in rows, up to one that meets the target."""
    found = [(cost.slack, cost.late) for cost in costs if cost.kind == "rows"]
    curve = [(slack, max(late, least)) for slack, late in found if slack is not None]
    slacks = [slack for slack, _ in curve if slack <= slack_rows]
    at = knee_of(slacks, [late for slack, late in curve if slack <= slack_rows])
    return None if at is None or slacks[at] == slack_rows else slacks[at]


def _time_grid(needed_us: Ints, proposed_us: set[int]) -> list[int]:
    if not len(needed_us):
        return sorted({0, *proposed_us})
    points = (int(np.quantile(needed_us, share, method="higher")) + 1 for share in _GRID)
    return sorted({0, *proposed_us, *map(round_up, points)})


def _rows_grid(enough: int, proposed: int) -> list[int]:
    steps = (digit * 10**power for power in range(len(str(enough))) for digit in (1, 2, 5))
    return sorted({0, proposed, enough, *(step for step in steps if step < enough)})
