"""Deployment of a pipeline file: gather the facts, and carry out the result of `decision`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from infra.endpoints import Endpoints
from jobs.brokers.topics import offsets_at
from jobs.checkpoints.checkpoint import committed_offsets
from jobs.checkpoints.conversion import Conversion, add_queries
from jobs.deployment.change import Change, Kind, compare
from jobs.deployment.decision import KnownRun, Plan, RunAction, Wish, plan
from jobs.runs.choice import live_run, one_at_a_time
from jobs.runs.folder import Options, Run, as_accepted, every_run, find, table_of
from jobs.runs.life import State
from jobs.runs.looking import life_of
from jobs.runs.placement import Placement, place, with_place
from jobs.runs.submission import living, submit, take_file
from windowing.model import Pipeline, PipelineError
from windowing.model.lengths import instant_us
from windowing.spark.sinks import SinkUnreachable, sink_of

_EARLIEST = -2
"""Spark's name for the first existing offset of a partition."""

_ON_THE_WAY_OUT = frozenset({State.failed, State.stopping})


class OriginError(ValueError):
    """An invalid start position of a run in the log."""

    exit_code = 2


@dataclass(frozen=True)
class Deployment:
    """A planned deployment.

    Attributes:
        pipeline: the pipeline to run: the file, with the run's place for rows.
        first: per lane, where a new run starts; None: at the beginning.
        said: all of it in sentences.
    """

    plan: Plan
    pipeline: Pipeline
    file: Path
    first: dict[int, int] | None
    said: tuple[str, ...]


def prepare(endpoints: Endpoints, pipeline: Pipeline, wish: Wish) -> Deployment:
    """Decide what to do, without changing anything.

    Raises:
        RequestRefusal: the file and the existing runs do not allow it.
        OriginError: a run cannot start there.
        InfraError: the master does not answer.
        BrokerError, TopicError: the log cannot be looked at.
    """
    live = live_run(endpoints, pipeline.name)
    found = plan(wish, known_runs(endpoints, pipeline), live.run if live else None)
    if found.step is not RunAction.begin:
        own = find(endpoints, pipeline, found.run).own_pipeline()
        accepted = as_accepted(endpoints, pipeline, found.run)
        ours = with_place(accepted, own.output, like=own)
        return Deployment(found, ours, wish.file, None, found.said)
    first = None if wish.origin is None else offsets_of(endpoints, pipeline, wish.origin)
    placement, news = _placed(endpoints, pipeline)
    said = (*found.said, *_beginning(pipeline, first), *placement.sentences(), *news)
    return Deployment(found, with_place(pipeline, placement.name), wish.file, first, said)


def grow(
    endpoints: Endpoints, deployment: Deployment, *, dry_run: bool = False
) -> Conversion | None:
    """Convert a run's state for added queries, if that is planned and not done yet.

    Args:
        deployment: from `prepare`.
        dry_run: check whether it is possible, and change nothing.

    Raises:
        ConversionError: the run cannot be converted now.
        CheckpointMismatch: a window of a query would hold records that were read before.
    """
    planned, pipeline = deployment.plan, deployment.pipeline
    if not planned.grows:
        return None
    with one_at_a_time(endpoints, pipeline.name):
        return add_queries(find(endpoints, pipeline, planned.run), pipeline, dry_run=dry_run)


def carry_out(
    endpoints: Endpoints,
    deployment: Deployment,
    *,
    max_offsets: int | None = None,
    available_now: bool = False,
) -> Run:
    """Carry out a deployment; stop no jobs that it did not name.

    Args:
        deployment: from `prepare`.
        max_offsets: maximum offsets per batch; None: the run's limit if it has one.
        available_now: whether to end after reading the existing records.

    Raises:
        RunError: another job was started meanwhile.
        ConversionError: queries are added, and the run cannot be converted now.
        CheckpointMismatch: a window of theirs would hold records that were read before.
    """
    grow(endpoints, deployment)
    planned, pipeline = deployment.plan, deployment.pipeline
    if planned.step is RunAction.begin:
        before = Options(first=deployment.first)
    else:
        before = find(endpoints, pipeline, planned.run).options
    options = replace(
        before,
        max_offsets=max_offsets or before.max_offsets,
        available_now=available_now,
        beside=planned.beside,
    )
    run = submit(endpoints, pipeline, deployment.file, planned.run, options, may_end=planned.ends)
    if planned.step is RunAction.attach and planned.takes_file:
        take_file(endpoints, run, pipeline)
    return run


def known_runs(endpoints: Endpoints, pipeline: Pipeline) -> dict[str, KnownRun]:
    """Return the runs of a pipeline, each with the effect of the file on it.

    Raises:
        InfraError: the master does not answer.
    """
    alive = living(endpoints, pipeline.name)
    return {
        run.run: KnownRun(
            change=_change(endpoints, run, pipeline),
            alive=run.run in alive and life_of(endpoints, run).state not in _ON_THE_WAY_OUT,
            beside=run.options.beside,
        )
        for run in every_run(endpoints, pipeline.name)
    }


def _change(endpoints: Endpoints, run: Run, pipeline: Pipeline) -> Change:
    try:
        own = run.own_pipeline()
    except PipelineError as error:
        return Change(Kind.new_run, (f"the run's own copy of the file is damaged: {error}",))
    return compare(own, as_accepted(endpoints, pipeline, run.run), run.fingerprint)


def offsets_of(endpoints: Endpoints, pipeline: Pipeline, origin: str) -> dict[int, int]:
    """Find where in its log a new run starts, per lane.

    Args:
        origin: another run, to start at its position; a time, to start with records appended then
            or later; or offsets by lane, as JSON.

    Raises:
        OriginError: it is none of these.
        BrokerError, TopicError: the log cannot be looked at.
    """
    source = pipeline.source
    if origin.lstrip().startswith("{"):
        found = _offsets(origin)
        if strange := sorted(set(found) - set(range(source.partitions))):
            msg = f"--from {origin}: there is no lane {strange[0]} (of {source.lanes})"
            raise OriginError(msg)
    elif origin in {run.run for run in every_run(endpoints, pipeline.name)}:
        batches, found = committed_offsets(find(endpoints, pipeline, origin).checkpoint, source)
        if not batches:
            msg = f"--from {origin}: that run has committed no batch: leave --from out"
            raise OriginError(msg)
    else:
        found = _at(endpoints, pipeline, origin)
    return {lane: found.get(lane, _EARLIEST) for lane in range(source.partitions)}


def _offsets(text: str) -> dict[int, int]:
    try:
        found = {int(lane): int(offset) for lane, offset in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        found = {0: -1}
    if any(offset < 0 for offset in found.values()):
        msg = f'--from {text}: give the first offset of each lane as JSON, as {{"0": 100}}'
        raise OriginError(msg)
    return found


def _at(endpoints: Endpoints, pipeline: Pipeline, text: str) -> dict[int, int]:
    try:
        at_us = instant_us(text)
    except ValueError:
        listed = ", ".join(run.run for run in every_run(endpoints, pipeline.name)) or "none yet"
        msg = (
            f"--from {text}: that is neither a run of pipeline {pipeline.name} ({listed}), nor a "
            'time, as 2013-01-02T00:00Z, nor offsets, as {"0": 100}'
        )
        raise OriginError(msg) from None
    found: dict[int, int] = {}
    for part in pipeline.source.parts:
        offsets = offsets_at(endpoints.kafka_bootstrap, part.topic, at_us)
        numbered = ((pipeline.source.number(part.topic, p), at) for p, at in offsets.items())
        found |= {number: at for number, at in numbered if number is not None}
    return found


def _beginning(pipeline: Pipeline, first: dict[int, int] | None) -> Iterator[str]:
    if first is not None:
        source = pipeline.source
        places = (
            f"{source.lane(lane)} at {'its beginning' if at == _EARLIEST else f'offset {at}'}"
            for lane, at in sorted(first.items())
        )
        yield f"it reads {', '.join(places)}, and knows nothing of what came before"


def _placed(endpoints: Endpoints, pipeline: Pipeline) -> tuple[Placement, list[str]]:
    """Decide where the rows of a new run go, and which columns the tables gain for it."""
    sink = sink_of(pipeline)

    def folder_of(name: str) -> Path:
        return table_of(endpoints, with_place(pipeline, name))

    try:
        placement = place(pipeline, lambda name: sink.clashes(pipeline, name, folder_of))
        return placement, sink.additions(pipeline, placement.name, folder_of)
    except SinkUnreachable as error:
        notice = f"{error}: the job looks at its tables itself"
        return Placement(pipeline.output, {}), [notice]
