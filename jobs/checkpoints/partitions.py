"""Partitions added to a topic while a run reads it: detecting, naming and accepting them.

The lanes of a run are fixed, so a job ends at the first batch with records of another partition, or
as soon as Spark reports one. Accepting the partition records, in the run's own copy of the file,
the progress at which it joins (ADR 13), which must be at least that at which any row was emitted.
The batch at which the job ended counts as never emitted only if it cannot run without the new
partition. The driver tries to run it, and records if it cannot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.brokers.topics import end_offsets
from jobs.checkpoints.checkpoint import newest, read_base
from jobs.file_run import own_session
from jobs.runs import FAILURE_FILE, Run
from jobs.runs.owner import Owner
from jobs.state import highest
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.model import Pipeline, PipelineError
from windowing.model.added_lanes import AddedLane
from windowing.model.file.versions import with_lanes
from windowing.model.run_errors import SecondDriver, UndeclaredPartition
from windowing.model.source import Source

REFUSED_BATCH = "refused_batch"
"""Key in a run's failure: the number of the planned batch that holds undeclared partitions."""


class PartitionsError(RuntimeError):
    """Partitions that cannot be accepted now."""

    exit_code = 1


@dataclass(frozen=True)
class Acceptance:
    """The result of accepting partitions."""

    pipeline: Pipeline
    lanes: tuple[AddedLane, ...]


def look(progress: Any, source: Source) -> None:
    """Check whether Spark has found partitions that the pipeline does not declare.

    Args:
        progress: Spark's report on the query; None: nothing reported yet.

    Raises:
        UndeclaredPartition: it has.
    """
    for read in progress.sources if progress is not None else ():
        for offsets in (read.endOffset, read.latestOffset):
            undeclared = _undeclared(offsets, source)
            if undeclared is not None:
                raise UndeclaredPartition(source.undeclared(undeclared))


def _undeclared(offsets: str | None, source: Source) -> str | None:
    by_topic = json.loads(offsets) if offsets else None
    for topic, partitions in (by_topic or {}).items():
        for partition in sorted(map(int, partitions)):
            if source.number(topic, partition) is None:
                return f"{topic}/{partition}"
    return None


def pending(checkpoint: Path) -> int | None:
    """Return the number of the batch that is planned but not committed; None: there is none."""
    planned = newest(checkpoint / "offsets")
    return planned if planned > newest(checkpoint / "commits") else None


def accept(run: Run, pipeline: Pipeline, bootstrap: str) -> Acceptance:
    """Let undeclared partitions join a run, and record them in the run's own file.

    Args:
        run: a run without a running job.
        pipeline: the user's file. If its generators name lanes, it must already declare the new
            partitions and their settings.

    Raises:
        PartitionsError: no new partition, a live job, it is unknown what was emitted, or the log
            has changed the run's queries.
        PipelineError: with the new lanes, the file breaks a rule.
        CheckpointMismatch: the run's state is not that of the run's file.
        BrokerError, TopicError: the broker does not list the partitions.
    """
    own = run.own_pipeline()
    names = _new(own.source, bootstrap)
    if not names:
        msg = f"run {run.run} reads {own.source.lanes}, and that is all there is: nothing to accept"
        raise PartitionsError(msg)
    if own.log_places:
        msg = (
            f"the log of run {run.run} has changed its queries, and a partition that joins now has "
            "no copy of that: by the log alone, nobody could tell which rows are right; write the "
            "queries into the file, and start a new run"
        )
        raise PartitionsError(msg)
    owner = Owner(run.folder)
    try:
        owner.claim()
    except SecondDriver as error:
        msg = f"run {run.run} has a job that is alive: end it with `slackwater stop`, then accept"
        raise PartitionsError(msg) from error
    try:
        _refuse_open_batch(run)
        lanes = _joining(own.source, names, _progress(run, own))
        grown = _grown(pipeline, own, lanes)
        written = run.file.with_name(f".{run.file.name}.new")
        written.write_text(grown.text, encoding="utf-8")
        written.replace(run.file)
    finally:
        owner.release()
    return Acceptance(grown, lanes)


def _new(source: Source, bootstrap: str) -> list[tuple[Source, int]]:
    return [
        (part, partition)
        for part in source.parts
        for partition in sorted(end_offsets(bootstrap, part.topic))
        if source.number(part.topic, partition) is None
    ]


def _refuse_open_batch(run: Run) -> None:
    """Raise if an open batch may have been emitted, because no job has tried to finish it."""
    batch, failure = pending(run.checkpoint), run.folder / FAILURE_FILE
    if batch is None:
        return
    said = json.loads(failure.read_text(encoding="utf-8")) if failure.exists() else {}
    if said.get(REFUSED_BATCH) != batch:
        msg = (
            f"batch {batch} of run {run.run} was begun, and is not done: submit the run once more; "
            "its job ends that batch, stops at the new partition, and then it can be accepted"
        )
        raise PartitionsError(msg)


def _progress(run: Run, own: Pipeline) -> dict[str, int]:
    """Return, by attribute, the largest progress of any lane or shard of the run."""
    if newest(run.checkpoint / "commits") < 0 and not read_base(run.checkpoint).batch:
        return {}
    with own_session("slackwater topics") as spark:
        reached = highest(spark, run.checkpoint, own)
    ended = [attribute for attribute, us in reached.items() if us == ENDED]
    if ended:
        msg = f"run {run.run} is at its end by {ended[0]}: no lane can join any more; start another"
        raise PartitionsError(msg)
    return {attribute: us for attribute, us in reached.items() if us != NOTHING_YET}


def _joining(
    source: Source, names: list[tuple[Source, int]], reached: dict[str, int]
) -> tuple[AddedLane, ...]:
    """Build the new lanes, numbered after all others; a join has a time field per side."""
    timed, lanes = source.event_time.field, []
    for number, (part, partition) in enumerate(names, start=source.partitions):
        at = {part.event_time.field if name == timed else name: us for name, us in reached.items()}
        lanes.append(AddedLane(part.topic, partition, number, tuple(sorted(at.items()))))
    return tuple(lanes)


def _grown(pipeline: Pipeline, own: Pipeline, lanes: tuple[AddedLane, ...]) -> Pipeline:
    """Return the user's file with entries for all lanes that ever joined; it must be the run's."""
    names, known = ", ".join(lane.name for lane in lanes), own.source.added_lanes
    try:
        grown = with_lanes(pipeline.keeping_zones(own.zone_tables), (*known, *lanes))
    except PipelineError as error:
        msg = (
            f"with {names} the file breaks a rule: {error}: correct the file (where a generator "
            "names lanes, declare as many partitions as there are, and say what holds for these)"
        )
        raise PartitionsError(msg) from error
    declared = pipeline.source.added_lanes
    if own.fingerprint not in grown.earlier or known[: len(declared)] != declared:
        msg = (
            "the file differs from the one that the run was submitted with in more than its "
            "partitions: accept with that one, or start a new run"
        )
        raise PartitionsError(msg)
    return grown
