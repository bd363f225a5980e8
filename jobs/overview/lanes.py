"""The lanes of a run, which of them holds windows back, and what would release those."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from jobs.overview.metrics_file import BatchMetrics
from jobs.overview.schema import Lane, OpenWindows
from jobs.overview.totals import DeadLetterTotals, LaneCounts
from windowing.model import Pipeline, Query
from windowing.model.lengths import spell_instant
from windowing.model.progress import Slack
from windowing.model.query import Flow
from windowing.model.registry import PluginError
from windowing.model.standing import LaneEnd, Waiting, is_timed, released_by
from windowing.model.windows.activity import Activity
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import ExtentDefinition

_NEVER: Final = -(1 << 200)
"""Stands for the progress of a lane that has none."""

_ENDED: Final = 1 << 200
"""Stands for the progress of a lane that has ended."""


@dataclass(frozen=True)
class Stand:
    """How far the lanes of a run are.

    Attributes:
        progress: by lane, in microseconds of event time.
    """

    pipeline: Pipeline
    progress: Mapping[str, int]

    @classmethod
    def of(cls, pipeline: Pipeline, counts: LaneCounts | None, metrics: BatchMetrics) -> Stand:
        """Return it, as the tables say, or else the driver's metrics."""
        known: dict[str, int | None] = {}
        ended = set()
        for number in range(pipeline.source.partitions):
            name = pipeline.source.lane(number)
            count = counts.lanes.get(name) if counts else None
            if count is not None and count.ended:
                ended.add(name)
            known[name] = metrics.progress_us(name) if count is None else count.progress_us
        return cls.at(pipeline, known, ended)

    @classmethod
    def at(
        cls, pipeline: Pipeline, progress_us: Mapping[str, int | None], ended: Collection[str]
    ) -> Stand:
        """Return it, given each lane's progress.

        Args:
            progress_us: by lane; None, or a missing lane: none yet.
            ended: lanes that have ended.
        """
        found = {}
        for number in range(pipeline.source.partitions):
            name = pipeline.source.lane(number)
            us = progress_us.get(name)
            found[name] = _ENDED if name in ended else _NEVER if us is None else us
        return cls(pipeline, found)

    @property
    def last_lane(self) -> str:
        """The lane that is furthest back, the first such."""
        return min(self.progress, key=lambda name: self.progress[name])

    @property
    def least_us(self) -> int | None:
        """The progress of all lanes together; None: there is none yet, or all have ended."""
        return _finite(min(self.progress.values()))

    @property
    def furthest_us(self) -> int | None:
        """The progress of the furthest lane that has not ended; None: none has any."""
        known = [us for us in self.progress.values() if _finite(us) is not None]
        return max(known, default=None)

    @property
    def all_ended(self) -> bool:
        """Whether all lanes have ended."""
        return min(self.progress.values()) == _ENDED

    def lag_s(self, lane: str) -> float | None:
        """Return how far a lane is behind the furthest; None: it has no progress, or has ended."""
        own, furthest = _finite(self.progress[lane]), self.furthest_us
        return None if own is None or furthest is None else (furthest - own) / 1e6

    def known_us(self, lane: str) -> int | None:
        """Return a lane's progress; None: it has none, or has ended."""
        return _finite(self.progress[lane])

    def has_ended(self, lane: str) -> bool:
        """Whether a lane has ended."""
        return self.progress[lane] == _ENDED

    def release(self, end_us: int) -> str:
        """Return what lets the last lane release a window that ends then."""
        return f"{released_by(self.pipeline.source, end_us)} on {self.last_lane}"


def open_windows(stand: Stand) -> list[tuple[OpenWindows, int | None]]:
    """Return the open windows of each query, and where the oldest of them ends."""
    return [_open(stand, flow) for flow in stand.pipeline.flows]


def waiting_windows(
    pipeline: Pipeline, lanes: Mapping[int, LaneEnd], first_us: int | None
) -> dict[str, Waiting]:
    """Return how many windows of each query are open by the calendar, empty ones included.

    Args:
        pipeline: what is run.
        lanes: how far they are, by number.
        first_us: the earliest event time: a lane without progress is taken to be there.
    """
    ends = {pipeline.source.lane(number): lane for number, lane in lanes.items()}
    known = {name: lane.progress_us for name, lane in ends.items()}
    for number in range(pipeline.source.partitions):
        name = pipeline.source.lane(number)
        known[name] = first_us if known.get(name) is None else known[name]
    stand = Stand.at(pipeline, known, {name for name, lane in ends.items() if lane.ended})
    found = {}
    for one, end in open_windows(stand):
        if one.open != 0 and (one.open is not None or one.held_back_by is not None):
            found[one.query] = Waiting(one.open, one.open, first_end=end)
    return found


def _open(stand: Stand, flow: Flow) -> tuple[OpenWindows, int | None]:
    nothing = OpenWindows(query=flow.name, open=None, oldest=None, held_back_by=None, release=None)
    least, furthest = stand.least_us, stand.furthest_us
    if stand.all_ended and is_timed(stand.pipeline.source, flow):
        return nothing.model_copy(update={"open": 0}), None
    if not isinstance(flow, Query) or not is_timed(stand.pipeline.source, flow):
        return nothing, None
    if furthest is None:
        return nothing, None
    if least is None:
        return nothing.model_copy(update={"held_back_by": stand.last_lane}), None
    try:
        definition = definition_of(flow)
    except PluginError:
        return nothing, None
    if not isinstance(definition, ExtentDefinition):
        return nothing, None
    disorder = stand.pipeline.source.disorder
    newest = furthest + (disorder.slack_us if isinstance(disorder, Slack) else 0)
    extent = definition.extent
    active = flow.window.active or Activity()
    begins, skips = active.begins_us, active.warmup == "skip"
    first = _first(
        lambda wid: (
            extent(wid)[1] > least
            and (begins is None or (extent(wid)[0] >= begins if skips else extent(wid)[1] > begins))
        ),
        negative=flow.window.align == "start",
    )
    start, end = extent(first)
    until = math.inf if active.until_us is None else active.until_us
    if start > newest or end > until or active.lacking:
        return nothing.model_copy(update={"open": 0}), None
    count = None
    traits = flow.window.traits
    # Of local periods, some numbers are of no window.
    if not traits.cumulative and (traits.on_grid or not traits.periodic):
        count = (
            _first(lambda wid: extent(wid)[0] > newest or extent(wid)[1] > until, begin=first)
            - first
        )
    oldest = f"{spell_instant(start)} to {spell_instant(end)}"
    found = OpenWindows(
        query=flow.name,
        open=count,
        oldest=oldest,
        held_back_by=stand.last_lane,
        release=stand.release(end),
    )
    return found, end


def _first(holds: Callable[[int], bool], *, begin: int = 0, negative: bool = False) -> int:
    """Return the first window from one on of which something holds that holds of all later ones."""
    low, step = begin - 1, 1  # of `low` it does not hold
    while negative and holds(low):
        low, step = low - step, step * 2
    high, step = low + 1, 1
    while not holds(high):
        low, high, step = high, high + step, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Offsets:
    """Where the lanes of a run are on the log, by number.

    Attributes:
        committed: the next offset after the last committed batch.
        ends: the ends of their partitions; None: no broker answers.
    """

    committed: Mapping[int, int]
    ends: Mapping[int, int] | None


def lanes(
    stand: Stand,
    counts: LaneCounts | None,
    dead: DeadLetterTotals | None,
    metrics: BatchMetrics,
    *,
    offsets: Offsets,
    releases_us: Sequence[int],
) -> list[Lane]:
    """Return the lanes, by number.

    Args:
        stand: how far they are.
        counts: what the table of metrics says; None: unreadable.
        dead: what the table of dead letters says; None: unreadable.
        offsets: where they are on the log.
        releases_us: where the oldest open window of each query ends.
    """
    held = min(releases_us, default=None)
    found = []
    for number, name in enumerate(stand.progress):
        count = counts.lanes.get(name) if counts else None
        end = None if offsets.ends is None else offsets.ends.get(number)
        committed = offsets.committed.get(number)
        holds_back = held is not None and name == stand.last_lane
        late, late_share = _late(stand.pipeline, name, counts, dead, metrics)
        silent = count is not None and counts is not None and 0 <= count.heard < counts.last
        known_us = stand.known_us(name)
        found.append(
            Lane(
                lane=name,
                progress=None if known_us is None else spell_instant(known_us),
                lag_s=stand.lag_s(name),
                offset=committed,
                end=end,
                behind=None if end is None else max(0, end - (committed or 0)),
                records=count.read if count else (0 if counts else None),
                late=late,
                late_share=late_share,
                dead=dead.lanes.get(name, 0) if dead else None,
                silent_since=spell_clock(count.heard_us) if silent and count else None,
                ended=stand.has_ended(name),
                holds_back=holds_back,
                release=stand.release(held) if holds_back and held is not None else None,
            )
        )
    return found


def _late(
    pipeline: Pipeline,
    lane: str,
    counts: LaneCounts | None,
    dead: DeadLetterTotals | None,
    metrics: BatchMetrics,
) -> tuple[int | None, float | None]:
    """Return how many records of a lane no window took, and their share, over all queries."""
    queries = len(pipeline.flows)
    if counts and dead:
        count = counts.lanes.get(lane)
        read = count.read if count else 0
        late = dead.late.get(lane, 0) + (count.dropped if count else 0)
        return late, _share(late, read * queries)
    measured = metrics.lane(lane)
    if measured is None:
        return None, None
    read, late = measured
    return late if metrics.is_whole else None, _share(late, read * queries)


def _share(part: int, whole: int) -> float | None:
    return round(min(1.0, part / whole), 6) if whole else None


def spell_clock(at_us: int | None) -> str | None:
    """Return an instant of the wall clock in ISO 8601, to the second."""
    if at_us is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at_us // 1_000_000)
    return moment.isoformat().replace("+00:00", "Z")


def _finite(us: int) -> int | None:
    return None if us in (_NEVER, _ENDED) else us
