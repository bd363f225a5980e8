"""What commands say of a result that may surprise: on standard error, a line for each cause."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from slackwater.console import tell

if TYPE_CHECKING:
    from chaos.readers.lane_order import LaneOrder
    from chaos.readers.log import LogRecord
    from chaos.readers.output import Output as ReadOutput
    from chaos.verdict.verify import Verdict
    from jobs.runs import Run
    from jobs.tools.recording import Recording
    from jobs.tools.times_seen import Times
    from windowing.explain.notes import DeadGroup
    from windowing.model import Pipeline
    from windowing.model.fates import Counts
    from windowing.model.standing import LaneEnd, Waiting
    from windowing.runtime.local import LocalEngine, Output

_END_OF_FILE = "`--end` ends all lanes after the file"
_END_OF_LANES = (
    "no end of a test is implied: a line 'LANE OFFSET control {\"end\": true}' ends a lane"
)


def tell_notes(lines: Iterable[str]) -> None:
    """Print lines for people."""
    for line in lines:
        tell(f"note: {line}")


def tell_of_file(pipeline: Pipeline) -> None:
    """Say what the pipeline's file alone says."""
    from windowing.explain.notes import of_file

    tell_notes(of_file(pipeline))


def tell_of_zones(pipeline: Pipeline) -> None:
    """Say which zones the pipeline's live run knows otherwise than this machine does."""
    from infra import stack
    from infra.errors import InfraError
    from jobs.runs.choice import live_run
    from jobs.runs.folder import RunError
    from windowing.model import PipelineError

    try:
        run = live_run(stack.endpoints(only=[], check=False), pipeline.name)
        kept = {} if run is None else run.own_pipeline().zone_tables
    except (InfraError, PipelineError, RunError):
        return  # what needs the stack, or the run, says so
    if run is not None and kept:
        from windowing.explain.zones import of_other_tables

        tell_notes(of_other_tables(run.run, kept))


def tell_redelivered(order: LaneOrder) -> None:
    """Say how many records of a file were not read again."""
    from windowing.explain.log_notes import redelivered

    tell_notes(redelivered(order.redelivered))


def tell_of_topics(pipeline: Pipeline, bootstrap: str | None = None) -> None:
    """Say which topics have no append times, if a limit needs them and a broker answers.

    Args:
        bootstrap: the broker; None: the local stack's, if it is there.
    """
    if all(part.event_time.max_ahead_us is None for part in pipeline.source.parts):
        return
    from infra.errors import InfraError
    from jobs.brokers.broker import BrokerError
    from jobs.brokers.topic_admin import without_append_times
    from slackwater.options import broker
    from windowing.explain.notes import limit_rests

    try:
        topics = without_append_times(broker(bootstrap), pipeline)
    except (InfraError, BrokerError):
        return  # what needs the broker says so
    if topics:
        tell_notes([limit_rests(topics)])


def tell_of_run(
    pipeline: Pipeline,
    result: Output,
    counts: Mapping[str, Counts],
    times: Times,
    waiting: Mapping[str, Waiting],
) -> None:
    """Say what there is to say of a run over a file."""
    from windowing.explain.notes import Findings, notes

    letters = [
        (letter.query, letter.reason, tuple(detail)) for letter, detail in result.details.items()
    ]
    overflows: dict[str, Counter[str]] = {}
    for row in result.rows:
        if row.overflow and not row.retracts:
            overflows.setdefault(row.query, Counter()).update(row.overflow)
    found = Findings(
        pipeline,
        counts,
        Counter(row.query for row in result.rows),
        waiting,
        result.lanes,
        _dead_groups(letters),
        times,
        _END_OF_FILE,
        overflows,
        result.held_back,
    )
    tell_notes(notes(found))


def why_missing(
    pipeline: Pipeline,
    result: Output,
    queries: Collection[str],
    engine: LocalEngine,
    times: Times,
) -> list[str]:
    """Return why queries may have sent fewer rows than a test expects; the engine ends with it."""
    from windowing.explain.notes import Findings, of_missing_rows

    letters = [
        (letter.query, letter.reason, tuple(detail)) for letter, detail in result.details.items()
    ]
    rows = Counter(row.query for row in result.rows)
    waiting = waiting_of(pipeline, engine, result.lanes, times)
    found = Findings(
        pipeline,
        {name: result.counts[name] for name in queries if name in result.counts},
        rows,
        waiting,
        result.lanes,
        _dead_groups(letters),
        ends_all=_END_OF_LANES,
        held_back=result.held_back,
    )
    return of_missing_rows(found)


def _dead_groups(
    letters: Iterable[tuple[str | None, str, tuple[str | None, ...]]],
) -> list[DeadGroup]:
    """Group those that no query could use, and those that a query's class refuses.

    Args:
        letters: of each the query, the reason, and what is known of it.
    """
    from windowing.explain.notes import LATE, grouped

    by_query: dict[str | None, list[tuple[str, tuple[str | None, ...]]]] = {}
    for query, reason, detail in letters:
        if query is None or reason not in LATE:
            by_query.setdefault(query, []).append((reason, detail))
    return [group for query, some in by_query.items() for group in grouped(some, query)]


def tell_of_recording(pipeline: Pipeline, recording: Recording) -> None:
    """Say what there is to say of the records of a log, whatever becomes of them."""
    from jobs.tools.times_seen import note
    from windowing.explain.notes import Findings, TimesSeen, notes

    times = TimesSeen()
    for lane in recording.lanes.values():
        note(times, lane)
    tell_of_file(pipeline)
    tell_notes(notes(Findings(pipeline, times={0: times})))
    if not times.looked_at:
        tell_notes(["no record of the log is valid, or none comes before an end"])


@dataclass
class TraceNotes:
    """What there is to say of a trace, from its lines."""

    pipeline: Pipeline
    records: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    times: list[int] = field(default_factory=list)
    lanes: dict[int, LaneEnd] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Take a line."""
        from windowing.model.standing import LaneEnd

        topic, _, partition = line["lane"].rpartition("/")
        number = self.pipeline.source.number(topic, int(partition))
        after = line.get("after")
        if number is not None and "after" in line:
            ended = after == "ended"
            self.lanes[number] = LaneEnd(None if ended else after, ended, line["offset"])
        self.records += line["kind"] in ("record", "dead")
        if line["kind"] == "dead":
            self.dead[line["reason"]] += 1
        elif "ts" in line:
            self.times.append(line["ts"])

    def tell(self) -> None:
        """Say it."""
        import polars as pl

        from jobs.tools.times_seen import note
        from windowing.explain.notes import DeadGroup, Findings, TimesSeen, notes
        from windowing.model.fates import Counts

        seen, source = TimesSeen(), self.pipeline.source
        columns = {"ts_us": self.times, "append_us": [0] * len(self.times)}
        note(seen, pl.DataFrame(columns, schema={"ts_us": pl.Int64, "append_us": pl.Int64}))
        counts = Counts.of(source.fates, self.records, dead=self.dead.total())
        waiting = waiting_of(self.pipeline, None, self.lanes, {0: seen})
        found = Findings(
            self.pipeline,
            {query.name: counts for query in self.pipeline.flows},
            waiting=waiting,
            lanes=self.lanes,
            dead=[DeadGroup(reason, number) for reason, number in self.dead.items()],
            times={0: seen},
            ends_all=_END_OF_FILE,
        )
        tell_of_file(self.pipeline)
        tell_notes(notes(found))


_LOOKED_AT: Final = 1_000
"""How many records of a lane are looked at."""


class LogNotes:
    """What is noted of a log while it is read for the first time.

    Attributes:
        order: of a file, what counts its redelivered lines; None: it was none, or was not read.
    """

    def __init__(self) -> None:
        self.order: LaneOrder | None = None
        self._heads: dict[tuple[str, int], list[LogRecord]] | None = None

    def noting(self, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        """Yield the records of a log, and keep the first of each lane."""
        if self._heads is not None:
            yield from records
            return
        heads: dict[tuple[str, int], list[LogRecord]] = {}
        self._heads = heads
        for record in records:
            head = heads.setdefault((record.source, record.partition), [])
            if len(head) < _LOOKED_AT:
                head.append(record)
            yield record

    def times(self, pipeline: Pipeline) -> Times:
        """Return the event times of the first records."""
        from jobs.tools.times_seen import seen
        from windowing.engine.reading.batches import batches

        times: Times = {}
        for head in (self._heads or {}).values():
            for _ in seen(pipeline, batches(head, _LOOKED_AT, pipeline), times):
                pass
        return times

    def tell(self, pipeline: Pipeline) -> None:
        """Say what there is to say of the log, whatever was made of it."""
        from windowing.explain.notes import Findings, notes

        if self.order is not None:
            tell_redelivered(self.order)
        tell_notes(notes(Findings(pipeline, times=self.times(pipeline))))


def tell_of_verdict(pipeline: Pipeline, verdict: Verdict, read: Callable[[], ReadOutput]) -> None:
    """Say why an output has few rows, whether they are right or not.

    Args:
        read: opens the output once more.
    """
    from windowing.explain.notes import SHARE, Findings, notes
    from windowing.model.fates import DEAD

    counts = {part.query: part.found for part in verdict.conservation}
    dead: list[DeadGroup] = []
    if any(own[DEAD.name] and own[DEAD.name] >= SHARE * own.read for own in counts.values()):
        letters = (json.loads(line) for _, line in read().dead)
        dead = _dead_groups((one["query"], one["reason"], (None, None, None)) for one in letters)
    rows = None if verdict.rows.found else dict.fromkeys(counts, 0)
    tell_notes(notes(Findings(pipeline, counts, rows, dead=dead)))


def tell_of_tables(pipeline: Pipeline, run: Run, empty: Sequence[str]) -> None:
    """Say why queries have no rows in the tables of a run.

    Args:
        empty: the queries.
    """
    from jobs.overview import cache
    from jobs.overview.lanes import waiting_windows
    from jobs.overview.tables import Tables
    from windowing.explain.notes import Findings, notes
    from windowing.model.fates import Counts
    from windowing.model.standing import LaneEnd

    if not empty:
        return
    counted = Tables(run.table, run.run, cache.load(run.folder, run.table)).lanes()
    if counted is None:
        return
    lanes, source = dict[int, LaneEnd](), pipeline.source
    for number in range(source.partitions):
        if (lane := counted.lanes.get(source.lane(number))) is not None:
            lanes[number] = LaneEnd(lane.progress_us, lane.ended)
    read = Counts.of(source.fates, sum(lane.read for lane in counted.lanes.values()))
    waiting = waiting_windows(pipeline, lanes, None)
    named = {name: waiting[name] for name in empty if name in waiting}
    rows = dict.fromkeys(empty, 0)
    tell_notes(notes(Findings(pipeline, dict.fromkeys(empty, read), rows, named, lanes)))


def waiting_of(
    pipeline: Pipeline, engine: LocalEngine | None, lanes: Mapping[int, LaneEnd], times: Times
) -> Mapping[str, Waiting]:
    """Return the open windows of each query: counted by the engine, or else by the calendar."""
    from windowing.model.run_errors import WindowingError

    if engine is not None:
        try:
            return engine.waiting()
        except WindowingError:
            pass  # an open window that has no result is none of this result's
    from jobs.overview.lanes import waiting_windows

    first = [seen.first_us for seen in times.values() if seen.first_us is not None]
    return waiting_windows(pipeline, lanes, min(first, default=None))
