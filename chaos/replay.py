"""Runs a range of a topic again and again, each time cut and spread differently, and compares.

Every trial has a fresh checkpoint, batches of another size and another number of executors. All
must give the same bytes: those of the definition over the same range.
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

from chaos import workload
from chaos.log import LogRecord, committed_ends, read_topic
from chaos.output import Output, read_tables
from chaos.verify import Verdict, verify
from infra import spark_rest
from infra.endpoints import Endpoints
from jobs import runs
from windowing.spec import Pipeline

News = Callable[[str], None]
Offsets = Mapping[int, int]

_STILL_S: Final = 600.0
_POLL_S: Final = 0.5
# (cores of all executors, cores of each): one, two or four executors on the local stack.
_SPREADS: Final = ((1, 1), (2, 2), (2, 1), (4, 2), (4, 1))


class ReplayError(RuntimeError):
    """A trial could not be run to its end."""


@dataclass(frozen=True)
class Trial:
    """How one trial is run.

    Attributes:
        number: from 1.
        max_offsets: offsets per batch at the most.
        cores, executor_cores: of all executors, and of each.
    """

    number: int
    max_offsets: int
    cores: int
    executor_cores: int

    @property
    def executors(self) -> int:
        """How many executors there are."""
        return self.cores // self.executor_cores

    def __str__(self) -> str:
        return (
            f"trial {self.number}: {self.max_offsets} offsets a batch, {self.executors} executors"
        )


@dataclass(frozen=True)
class Result:
    """What one trial came to.

    Attributes:
        trial: how it was run.
        batches: how many it took.
        digest: of all rows and dead letters.
        verdict: against the definition.
    """

    trial: Trial
    batches: int
    digest: str
    verdict: Verdict

    @property
    def ok(self) -> bool:
        """Whether it is what the definition says."""
        return self.verdict.ok


def draw_trials(count: int, seed: int, offsets: int) -> list[Trial]:
    """Draw how trials are run; the sizes of batches lie between a third and a thirtieth of all.

    Args:
        count: how many.
        seed: of the draw.
        offsets: how many the range has.
    """
    rng = random.Random(seed)
    spreads = [*_SPREADS]
    rng.shuffle(spreads)
    trials = []
    for number in range(1, count + 1):
        batches = rng.uniform(3, 30)
        cores, each = spreads[(number - 1) % len(spreads)]
        trials.append(Trial(number, max(1, round(offsets / batches)), cores, each))
    return trials


def replay(
    file: Path,
    endpoints: Endpoints,
    trials: int,
    *,
    seed: int,
    first: Offsets | None = None,
    end: Offsets | None = None,
    news: News,
) -> list[Result]:
    """Run a range of the pipeline's topic in several ways; nothing that runs is touched.

    Args:
        file: the pipeline file.
        endpoints: of the running stack.
        trials: how often.
        seed: draws sizes of batches and numbers of executors.
        first: per partition, where the range begins; None: at the beginning.
        end: per partition, the first offset not in the range; None: the topic's end now.
        news: told what happens.

    Raises:
        ReplayError: a job holds the cluster, or a trial did not come to its end.
        LogError: the topic cannot be read.
        PipelineError: the pipeline file breaks a rule.
    """
    busy = [d.name for d in spark_rest.list_drivers(endpoints) if d.state in spark_rest.ALIVE]
    if busy:
        msg = (
            f"{busy[0]} is running and holds the cores: end it with `slackwater stop`, then replay"
        )
        raise ReplayError(msg)
    stamp = f"replay-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    pipeline = workload.own_pipeline(file, stamp)
    topic, bootstrap = pipeline.source.topic, endpoints.kafka_bootstrap
    ends = {**committed_ends(bootstrap, topic), **(end or {})}
    begins = {lane: (first or {}).get(lane, 0) for lane in ends}
    log = list(between(read_topic(bootstrap, topic, ends=ends), begins))
    news(f"{len(log)} records of {topic} in the range")
    on_range = _Range(pipeline, file, endpoints, begins, ends, log)
    results = []
    for trial in draw_trials(trials, seed, len(log)):
        result = on_range.run(trial)
        mark = "as defined" if result.ok else result.verdict.lines()[-1]
        news(f"{trial}, {result.batches} batches: {result.digest[:12]}, {mark}")
        results.append(result)
    return results


def between(log: Iterable[LogRecord], begins: Offsets) -> Iterable[LogRecord]:
    """The records from the begin of a range on."""
    return (record for record in log if record.offset >= begins.get(record.partition, 0))


def all_equal(results: Iterable[Result]) -> bool:
    """Whether all trials gave the same bytes."""
    return len({result.digest for result in results}) <= 1


def digest(output: Output) -> str:
    """A digest of rows and dead letters, whatever their order."""
    lines = sorted(line for _, line in [*output.rows, *output.dead])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class _Range:
    """What all trials have in common."""

    pipeline: Pipeline
    file: Path
    endpoints: Endpoints
    begins: Offsets
    ends: Offsets
    log: list[LogRecord]

    def run(self, trial: Trial) -> Result:
        """Run one trial to its end, and judge it."""
        run = runs.submit(
            self.endpoints,
            self.pipeline,
            self.file,
            f"trial-{trial.number}",
            max_offsets=trial.max_offsets,
            available_now=True,
            conf={
                "spark.cores.max": str(trial.cores),
                "spark.executor.cores": str(trial.executor_cores),
            },
            first=self.begins,
            end=self.ends,
        )
        batches = _await_end(self.endpoints, run, trial)
        output = read_tables(run.table, self.pipeline, run.run)
        verdict = verify(self.pipeline, self.log, output)
        return Result(trial, batches, digest(output), verdict)


def _await_end(endpoints: Endpoints, run: runs.Run, trial: Trial) -> int:
    batches, moved_s = -1, time.monotonic()
    while True:
        found = runs.progress(endpoints, run, {})
        if found.error is not None:
            msg = f"{trial} failed: {found.error}"
            raise ReplayError(msg)
        if found.state == "FINISHED":
            return found.batches
        if found.state not in spark_rest.ALIVE:
            msg = f"{trial} ended as {found.state}; its log: {found.log}"
            raise ReplayError(msg)
        if found.batches != batches:
            batches, moved_s = found.batches, time.monotonic()
        elif time.monotonic() - moved_s > _STILL_S:
            msg = f"{trial} has committed nothing for {_STILL_S:.0f} s; its log: {found.log}"
            raise ReplayError(msg)
        time.sleep(_POLL_S)
