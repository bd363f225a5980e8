"""Submitting, resuming and stopping runs; by default one running job per pipeline."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from infra import drivers
from infra.endpoints import Endpoints
from infra.kafka_settings import settings_for
from infra.kafka_spelling import hand_over
from infra.monitoring_settings import lineage_settings, metrics_address, telemetry_settings
from infra.private import SECRETS_FOLDER, forget
from jobs.runs.attempts import forget_attempts
from jobs.runs.choice import (
    give_order,
    live_run,
    name_live,
    one_at_a_time,
    withdraw_order,
)
from jobs.runs.difference import other_code
from jobs.runs.folder import (
    FAILURE_FILE,
    NOTE_FILE,
    Options,
    Run,
    RunError,
    as_accepted,
    checkpoint_of,
    folder_of,
    read_run,
    runs_folder,
    table_of,
    write_note,
)
from jobs.runs.job_order import JobOrder, job_name, run_of_job, write_environment
from jobs.runs.life import Order, State
from jobs.runs.looking import life_of
from jobs.runs.owner import REFUSED_FILE
from jobs.runs.targets import targets_folder, withdraw_of
from windowing.model import Pipeline
from windowing.model.registry import PLUGINS_VARIABLE

_SCRIPT = "jobs/pipeline.py"


def submit(
    endpoints: Endpoints,
    pipeline: Pipeline,
    file: Path,
    run: str,
    options: Options | None = None,
    *,
    may_end: Collection[str] | None = None,
) -> Run:
    """Submit a run, or attach to it if it is running already.

    The pipeline file is copied into the run's folder, so that a supervised restart runs what was
    submitted, whatever happens to the file meanwhile; when attaching, the job keeps its copy. The
    pipeline's other jobs are stopped first, and superseded by this one.

    Args:
        pipeline: what to run.
        file: the pipeline file, for its name.
        may_end: the runs whose jobs may be stopped for it; None: any.

    Raises:
        RunError: a job is in the way that may not be stopped.
    """
    # Lanes that have joined the run stay with it, whether or not the user's file has them.
    with one_at_a_time(endpoints, pipeline.name):
        accepted = as_accepted(endpoints, pipeline, run)
        wanted = _Wanted(accepted, file, file.absolute(), run, options or Options(), may_end)
        return _submit(endpoints, wanted)


def _check_ends(endpoints: Endpoints, wanted: _Wanted) -> None:
    if wanted.may_end is None:
        return
    pipeline, known = wanted.pipeline.name, {wanted.run, *wanted.may_end}
    for name in _living(endpoints, pipeline):
        if name not in known:
            msg = (
                f"run {name} of pipeline {pipeline} was begun meanwhile: look with "
                "`slackwater runs`, then submit again"
            )
            raise RunError(msg)


def take_file(endpoints: Endpoints, run: Run, pipeline: Pipeline) -> None:
    """Replace a run's own copy of the file by one with the same meaning.

    Args:
        run: may be running.
        pipeline: has the run's fingerprint, and its rows where the run's are.
    """
    with one_at_a_time(endpoints, run.pipeline):
        _copy(pipeline, run.file)


def take_over(endpoints: Endpoints, run: Run, before: Run) -> list[str]:
    """Make a run beside the live one live, in one write; then stop the old one.

    After an interruption, call it again: completed steps are kept.

    Returns:
        The runs whose jobs were stopped.
    """
    with one_at_a_time(endpoints, run.pipeline):
        name_live(endpoints, run.pipeline, run.run)
        options = replace(run.options, beside=False)
        write_note(replace(read_run(run.folder), options=options))
        return _stop(endpoints, run.pipeline, only=before.run, by=run.run)


def start(endpoints: Endpoints, run: Run) -> Run:
    """Resume a run from its checkpoint, with its own copy of the file and the same options.

    Runs that work beside it stay as they are: neither needs the other's end.

    Raises:
        RunError: another run of the pipeline has a running job, not beside this one; or its classes
            have other code than when it was begun, so its checkpoint does not fit.
    """
    pipeline = run.own_pipeline()
    if run.fingerprint is not None and not pipeline.wrote(run.fingerprint):
        differing = "".join(f"\n  {sentence}" for sentence in other_code(pipeline))
        msg = (
            f"run {run.run} of pipeline {run.pipeline} was begun with other code than is here, so "
            f"its checkpoint does not fit: put that code back, or submit a new run{differing}"
        )
        raise RunError(msg)
    with one_at_a_time(endpoints, run.pipeline):
        runs = runs_folder(endpoints, run.pipeline)
        others = [
            name
            for name in _living(endpoints, run.pipeline)
            if name != run.run and not _is_beside(runs / name)
        ]
        if others and not run.options.beside:
            msg = (
                f"run {others[0]} of pipeline {run.pipeline} has a job that lives: end it with "
                f"`slackwater stop {run.file} --run {others[0]}`, then start {run.run}"
            )
            raise RunError(msg)
        wanted = _Wanted(pipeline, run.file, run.given, run.run, run.options, replaces=False)
        return _submit(endpoints, wanted)


def _is_beside(run: Path) -> bool:
    return (run / NOTE_FILE).exists() and read_run(run).options.beside


def stop(
    endpoints: Endpoints,
    pipeline: Pipeline,
    keep: str | None = None,
    *,
    only: str | None = None,
    by: str | None = None,
) -> list[str]:
    """Stop running drivers of a pipeline; return their runs.

    Args:
        keep: a run to keep running.
        only: the run to stop; None: all of them.
        by: the run that supersedes them; None: they are only stopped.
    """
    with one_at_a_time(endpoints, pipeline.name):
        return _stop(endpoints, pipeline.name, keep=keep, only=only, by=by)


@dataclass(frozen=True)
class _Wanted:
    """A run to be submitted: pipeline, file as given, options and name."""

    pipeline: Pipeline
    file: Path
    given: Path | None
    run: str
    options: Options
    may_end: Collection[str] | None = None
    replaces: bool = True
    """Whether other runs' jobs are stopped for it, unless it is to run beside them."""


def _submit(endpoints: Endpoints, wanted: _Wanted) -> Run:
    pipeline, run, beside = wanted.pipeline, wanted.run, wanted.options.beside
    folder = folder_of(endpoints, pipeline, run)
    live = live_run(endpoints, pipeline.name)
    folder.mkdir(parents=True, exist_ok=True)
    if _is_doomed(endpoints, folder):
        _stop(endpoints, pipeline.name, only=run)
    driver = drivers.cluster(endpoints).find_driver(endpoints, job_name(pipeline.name, run))
    if driver is None:
        if wanted.replaces and not beside:
            # Another run's job would keep the cores and write next to this one.
            _check_ends(endpoints, wanted)
            _stop(endpoints, pipeline.name, keep=run, by=run)
        for said in (FAILURE_FILE, REFUSED_FILE):
            (folder / said).unlink(missing_ok=True)
        withdraw_order(folder)
        forget_attempts(folder)
    secrets = _hand_over(endpoints, folder)
    if driver is not None and (folder / NOTE_FILE).exists():
        result = replace(read_run(folder), submission_id=driver)
    else:
        result = _noted(endpoints, wanted, driver)
    if driver is None:
        result = _launch(endpoints, result, secrets)
    name_live(endpoints, pipeline.name, live.run if beside and live is not None else run)
    return result


def _is_doomed(endpoints: Endpoints, folder: Path) -> bool:
    """Whether a run's job cannot be attached to: it has given up, or is ending."""
    return (folder / NOTE_FILE).exists() and life_of(endpoints, read_run(folder)).state in (
        State.failed,
        State.stopping,
    )


def _noted(endpoints: Endpoints, wanted: _Wanted, driver: str | None) -> Run:
    """Copy the file and write the note before there is a job, so that a crash here shows."""
    folder = folder_of(endpoints, wanted.pipeline, wanted.run)
    copied = folder / wanted.file.name
    result = Run(
        pipeline=wanted.pipeline.name,
        run=wanted.run,
        submission_id=driver or "",
        folder=folder,
        checkpoint=checkpoint_of(endpoints, wanted.pipeline, wanted.run),
        table=table_of(endpoints, wanted.pipeline),
        file=copied,
        given=wanted.given,
        submitted_at=datetime.now(UTC),
        options=wanted.options,
        fingerprint=_begun_with(folder, wanted.pipeline),
    )
    _copy(wanted.pipeline.keeping_zones(), copied)
    write_note(result)
    return result


def _begun_with(folder: Path, pipeline: Pipeline) -> str:
    """Return the fingerprint that a run was started with: as noted, or the pipeline's."""
    noted = read_run(folder).fingerprint if (folder / NOTE_FILE).exists() else None
    return noted or pipeline.fingerprint


def _copy(pipeline: Pipeline, file: Path) -> None:
    written = file.with_name(f".{file.name}.new")
    written.write_text(pipeline.text, encoding="utf-8")
    written.replace(file)


def _launch(endpoints: Endpoints, run: Run, secrets: Path | None) -> Run:
    submission_id = drivers.cluster(endpoints).submit(
        endpoints,
        endpoints.code / _SCRIPT,
        _order(endpoints, run, secrets).arguments(),
        name=job_name(run.pipeline, run.run),
        conf=run.options.conf,
        supervise=not run.options.available_now,
    )
    result = replace(run, submission_id=submission_id)
    write_note(result)
    return result


def _hand_over(endpoints: Endpoints, folder: Path) -> Path | None:
    """Write the file with the job's login; it outlives this process, for supervised restarts."""
    settings = settings_for(endpoints.kafka_bootstrap)
    return hand_over(settings, folder / SECRETS_FOLDER) if settings.is_more else None


def _order(endpoints: Endpoints, run: Run, secrets: Path | None) -> JobOrder:
    options = run.options
    variables = lineage_settings() | telemetry_settings() | run.own_pipeline().source.secrets
    # The stack may have been started before the project's settings named them.
    if plugins := os.environ.get(PLUGINS_VARIABLE):
        variables |= {PLUGINS_VARIABLE: plugins}
    return JobOrder(
        file=run.file,
        run=run.run,
        bootstrap=endpoints.kafka_bootstrap,
        folder=run.folder,
        checkpoint=run.checkpoint,
        tables=run.table,
        max_offsets=options.max_offsets,
        available_now=options.available_now,
        parallelism=options.parallelism,
        first=options.first,
        end=options.end,
        metrics=metrics_address(),
        targets=targets_folder(endpoints),
        environment=write_environment(run.folder, variables),
        kafka=secrets,
    )


def stop_run(endpoints: Endpoints, run: Run) -> list[str]:
    """Stop the driver of one run, if it is running; return the run's name, or nothing."""
    with one_at_a_time(endpoints, run.pipeline):
        return _stop(endpoints, run.pipeline, only=run.run)


def stop_all(endpoints: Endpoints, pipeline: str) -> list[str]:
    """Stop all running drivers of a pipeline, by its name; return their runs."""
    with one_at_a_time(endpoints, pipeline):
        return _stop(endpoints, pipeline)


def living(endpoints: Endpoints, pipeline: str) -> list[str]:
    """Return the runs of a pipeline that have a running driver."""
    return sorted(_living(endpoints, pipeline))


def _living(endpoints: Endpoints, pipeline: str) -> dict[str, str]:
    """Return the submission id of each run of a pipeline whose driver is running."""
    return {
        run: driver.submission_id
        for driver in drivers.cluster(endpoints).list_drivers(endpoints)
        if driver.state in drivers.ALIVE and (run := run_of_job(driver.name, pipeline)) is not None
    }


def _stop(
    endpoints: Endpoints,
    pipeline: str,
    *,
    keep: str | None = None,
    only: str | None = None,
    by: str | None = None,
) -> list[str]:
    stopped = []
    for run, submission_id in _living(endpoints, pipeline).items():
        if run == keep or only not in (None, run):
            continue
        folder = runs_folder(endpoints, pipeline) / run
        folder.mkdir(parents=True, exist_ok=True)
        give_order(folder, Order(by))
        drivers.cluster(endpoints).kill(endpoints, submission_id)
        stopped.append(run)
    # Also of those that died, or were ended by somebody else: nobody starts them again.
    for note in runs_folder(endpoints, pipeline).glob(f"*/{NOTE_FILE}"):
        run = note.parent.name
        if run != keep and only in (None, run):
            forget(note.parent)
    withdraw_of(endpoints, pipeline, keep=keep, only=only)
    return stopped
