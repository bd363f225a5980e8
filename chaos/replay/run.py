"""Runs a range of a topic again and again, each time cut and spread differently, and compares.

Every trial has a fresh checkpoint, batches of another size, another number of executors, and other
shards. All must give the same bytes: those of the definition over the same range. What a production
run wrote must be the definition's too, over the windows that the range decides.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chaos.readers.catalogue import read_output
from chaos.readers.log import LogRecord, behind
from chaos.readers.output import Output
from chaos.readers.topic import committed_ends, read_topic
from chaos.replay.production import ProductionRun, against_production
from chaos.verdict.verify import Verdict, verify
from chaos.workload.own_pipeline import own_pipeline
from infra import drivers
from infra.endpoints import Endpoints
from jobs import runs
from jobs.brokers.topics import lane_ends
from jobs.runs.choice import live_run
from jobs.runs.life import State
from windowing.model import Pipeline, load_pipeline

# (cores of all executors, cores of each): one, two or four executors on the local stack.
_SPREADS: Final = ((1, 1), (2, 2), (2, 1), (4, 2), (4, 1))
_TASKS_MAX: Final = 4
_STILL_S: Final = 600.0
_POLL_S: Final = 0.5

News = Callable[[str], None]
Offsets = Mapping[int, int]


@dataclass(frozen=True)
class Trial:
    """The settings of one trial.

    Attributes:
        number: number of the trial, from 1.
        cores: total number of cores.
        shards: number of shards for the keys; does not affect the rows.
        tasks: number of tasks that run the shards.
    """

    number: int
    max_offsets: int
    cores: int
    executor_cores: int
    shards: int
    tasks: int

    @property
    def executors(self) -> int:
        """Number of executors."""
        return self.cores // self.executor_cores

    def __str__(self) -> str:
        return (
            f"trial {self.number}: {self.max_offsets} offsets a batch, {self.executors} executors, "
            f"{self.shards} shards in {self.tasks} tasks"
        )


def draw_trials(count: int, seed: int, *, offsets: int, shards: int) -> list[Trial]:
    """Draw the settings of trials, with batches between a third and a thirtieth of the range.

    The range has `offsets`. Trials have from one shard to twice as many as the pipeline.
    """
    rng = random.Random(seed)
    spreads = [*_SPREADS]
    rng.shuffle(spreads)
    trials = []
    for number in range(1, count + 1):
        batches = rng.uniform(3, 30)
        cores, each = spreads[(number - 1) % len(spreads)]
        spread = (rng.randint(1, 2 * shards), rng.randint(1, _TASKS_MAX))
        trials.append(Trial(number, max(1, round(offsets / batches)), cores, each, *spread))
    return trials


class ReplayError(RuntimeError):
    """A range that cannot be replayed, or a trial that did not finish."""

    exit_code = 1


@dataclass(frozen=True)
class LogRange:
    """A range of a log, with everything before it.

    Attributes:
        begins: first offset of the range, by partition.
        ends: first offset after the range, by partition.
        log: every record from the beginnings of the partitions to the end of the range.
    """

    begins: Offsets
    ends: Offsets
    log: list[LogRecord]

    @property
    def records(self) -> list[LogRecord]:
        """The records of the range."""
        return [r for r in self.log if r.offset >= self.begins[r.partition]]


@dataclass(frozen=True)
class TrialResult:
    """The result of one trial."""

    trial: Trial
    batches: int
    digest: str
    verdict: Verdict


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes:
        production: the comparison with a production run; None: there is none.
        output: what the first trial wrote.
    """

    results: tuple[TrialResult, ...]
    production: ProductionRun | None
    output: Output | None = None

    @property
    def equal(self) -> bool:
        """Whether all trials wrote the same bytes."""
        return len({result.digest for result in self.results}) <= 1

    @property
    def ok(self) -> bool:
        """Whether all outputs are equal to each other and to the definition's."""
        written = self.production is None or self.production.ok
        return written and self.equal and all(result.verdict.ok for result in self.results)


def replay(
    file: Path,
    endpoints: Endpoints,
    trials: int,
    *,
    seed: int,
    first: Offsets | None = None,
    end: Offsets | None = None,
    production: str | None = None,
    news: News,
) -> Replay:
    """Run a range of the pipeline's topic in several ways, without touching existing runs.

    Args:
        seed: draws batch sizes and numbers of executors and shards.
        first: first offset of the range, by partition; None: the beginning.
        end: first offset after the range, by partition; None: the current end.
        production: the run to compare with; None: the live one, if any.

    Raises:
        ReplayError: a job occupies the cluster, the range is empty or not within the topic, or a
            trial did not finish.
        LogError: the topic cannot be read.
        TopicError: the topic has a partition that the pipeline does not declare.
        PipelineError: the pipeline file breaks a rule.
        RunError: there is no such production run.
    """
    refuse_beside_a_job(endpoints)
    pipeline = load_pipeline(file)
    written_by = _production(endpoints, pipeline, production)
    zones = {} if written_by is None else written_by.own_pipeline().zone_tables
    pipeline = pipeline.keeping_zones(zones)
    lane_ends(endpoints.kafka_bootstrap, pipeline.source)  # all partitions are declared
    ranged = read_range(endpoints.kafka_bootstrap, pipeline.source.topic, first, end)
    records = ranged.records
    news(f"{len(records)} records of {pipeline.source.topic} in the range")
    stamp, results, first_output = fresh_stamp(), list[TrialResult](), None
    drawn = draw_trials(trials, seed, offsets=len(records), shards=pipeline.shards)
    for trial in drawn:
        own = own_pipeline(file, stamp, shards=trial.shards, zones=zones)
        output, batches = run_trial(endpoints, own, file, trial, ranged)
        first_output = first_output or output
        verdict = verify(own, records, output)
        result = TrialResult(trial, batches, digest(output), verdict)
        mark = "as defined" if verdict.ok else verdict.lines()[-1]
        news(f"{trial}, {batches} batches: {result.digest[:12]}, {mark}")
        results.append(result)
    written = None if written_by is None else _compared(pipeline, ranged, written_by)
    return Replay(tuple(results), written, first_output)


def refuse_beside_a_job(endpoints: Endpoints) -> None:
    """Raise an error if a job occupies the cores that a replay needs.

    Raises:
        ReplayError: a job is running.
    """
    busy = [
        d.name
        for d in drivers.cluster(endpoints).list_drivers(endpoints)
        if d.state in drivers.ALIVE
    ]
    if busy:
        msg = (
            f"{busy[0]} is running and holds the cores: end it with `slackwater stop`, then replay"
        )
        raise ReplayError(msg)


def fresh_stamp() -> str:
    """Return a name for the tables and runs of one replay."""
    return f"replay-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def read_range(
    bootstrap: str, topic: str, first: Offsets | None = None, end: Offsets | None = None
) -> LogRange:
    """Read a topic up to the end of a range.

    Args:
        first: first offset of the range, by partition; default: its beginning.
        end: first offset after the range, by partition; default: its current end.

    Raises:
        ReplayError: the range is empty, or names a partition that does not exist.
        LogError: the topic cannot be read.
    """
    settled = committed_ends(bootstrap, topic)
    ends = {**settled, **(end or {})}
    if beyond := sorted(lane for lane, at in ends.items() if at > settled.get(lane, -1)):
        lane = beyond[0]
        msg = f"--to {ends[lane]} of {topic}/{lane}: the topic ends at {settled.get(lane, 'none')}"
        raise ReplayError(msg)
    return cut_range(read_topic(bootstrap, topic, ends=ends), range(len(settled)), first, ends)


def cut_range(
    log: Iterable[LogRecord],
    lanes: Iterable[int],
    first: Offsets | None = None,
    end: Offsets | None = None,
) -> LogRange:
    """Cut a range out of a log.

    Args:
        log: the log from each partition's beginning.
        first: first offset of the range, by partition; default: its beginning.
        end: first offset after the range, by partition; default: the log's end.

    Raises:
        ReplayError: the range is empty, or names a partition that does not exist.
    """
    known = sorted(lanes)
    if strange := sorted({*(first or {}), *(end or {})} - {*known}):
        msg = f"there is no partition {strange[0]}: the log has {', '.join(map(str, known))}"
        raise ReplayError(msg)
    begins = {lane: (first or {}).get(lane, 0) for lane in known}
    kept = [r for r in log if end is None or r.offset < end.get(r.partition, r.offset + 1)]
    ends = dict.fromkeys(known, 0)
    for record in kept:
        ends[record.partition] = max(ends[record.partition], record.offset + 1)
    ranged = LogRange(begins, {**ends, **(end or {})}, kept)
    if not ranged.records:
        msg = f"no record lies between {begins} and {dict(ranged.ends)}: widen --from and --to"
        raise ReplayError(msg)
    return ranged


def run_trial(
    endpoints: Endpoints, pipeline: Pipeline, file: Path, trial: Trial, ranged: LogRange
) -> tuple[Output, int]:
    """Run a range once on the cluster; return the output and the number of batches.

    The pipeline has its own name and tables.

    Raises:
        ReplayError: the trial did not finish.
    """
    run = runs.submit(
        endpoints,
        pipeline,
        file,
        f"trial-{trial.number}",
        runs.Options(
            max_offsets=trial.max_offsets,
            available_now=True,
            parallelism=trial.tasks,
            conf={
                "spark.cores.max": str(trial.cores),
                "spark.executor.cores": str(trial.executor_cores),
            },
            first=ranged.begins,
            end=ranged.ends,
        ),
    )
    try:
        batches = _await_end(endpoints, run, trial)
    except BaseException:
        # An interrupted trial must not leave a job behind that occupies the cores.
        runs.stop(endpoints, pipeline)
        raise
    return read_output(pipeline, run.table, run.run), batches


def run_once(file: Path, endpoints: Endpoints, ranged: LogRange) -> Output:
    """Run a range on the cluster, in its own tables, in few batches.

    Raises:
        ReplayError: a job occupies the cluster, or the run did not finish.
        PipelineError: the pipeline file breaks a rule.
    """
    refuse_beside_a_job(endpoints)
    own = own_pipeline(file, fresh_stamp())
    trial = draw_trials(1, 1, offsets=len(ranged.records), shards=own.shards)[0]
    return run_trial(endpoints, own, file, trial, ranged)[0]


def _production(endpoints: Endpoints, pipeline: Pipeline, name: str | None) -> runs.Run | None:
    return runs.find(endpoints, pipeline, name) if name else live_run(endpoints, pipeline.name)


def _compared(pipeline: Pipeline, ranged: LogRange, run: runs.Run) -> ProductionRun:
    _, committed = runs.committed_offsets(run.checkpoint)
    ends = {lane: min(end, committed.get(lane, 0)) for lane, end in ranged.ends.items()}
    written = read_output(pipeline, run.table, run.run)
    log = list(behind(pipeline.source, ranged.log, run.options.first))
    return against_production(pipeline, log, ranged.begins, ends, run=run.run, written=written)


def digest(output: Output) -> str:
    """Return an order-independent digest of rows and dead letters."""
    lines = sorted(line for _, line in [*output.rows, *output.dead])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _await_end(endpoints: Endpoints, run: runs.Run, trial: Trial) -> int:
    batches, moved_s = -1, time.monotonic()
    while True:
        found = runs.progress(endpoints, run, {})
        if found.error is not None:
            msg = f"{trial} failed: {found.error}"
            raise ReplayError(msg)
        if found.state is State.finished:
            return found.batches
        if found.state.ended:
            msg = f"{trial} ended as {found.state}; its log: {found.log}"
            raise ReplayError(msg)
        if found.batches != batches:
            batches, moved_s = found.batches, time.monotonic()
        elif time.monotonic() - moved_s > _STILL_S:
            msg = f"{trial} has committed nothing for {_STILL_S:.0f} s; its log: {found.log}"
            raise ReplayError(msg)
        time.sleep(_POLL_S)
