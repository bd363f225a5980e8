"""Why a run waits: which job has the cores that it needs, and how to free them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from infra import drivers, elsewhere, spark_room
from infra.endpoints import Endpoints
from infra.errors import NotReady
from infra.spark_room import Room
from infra.spark_size import AT_ONCE_VARIABLE, size_of
from jobs.runs.folder import Run, read_run, runs_folder
from jobs.runs.job_order import job_name, pipeline_and_run, run_of_job

FileOf = Callable[[tuple[str, str]], Path]
"""Returns the file by which commands find a run, given the names of pipeline and run."""

_DRIVER_MIB = 1024  # from the cluster's settings


def lacks(endpoints: Endpoints, run: Run, driver: str | None) -> str | None:
    """Say what a run waits for, and which job has it; None: nothing, or unknown.

    Args:
        driver: the state of its driver at the master.
    """
    if driver not in ("SUBMITTED", "RUNNING"):
        return None
    if endpoints.yarn_ui:
        return _news(endpoints, run) if driver == "SUBMITTED" else None
    try:
        room = spark_room.look(endpoints.spark_ui)
    except NotReady:
        return None
    name = job_name(run.pipeline, run.run)
    own = room.application(name)
    if driver == "RUNNING" and (own is None or not own.waits):
        return None
    names = {
        one.submission_id: one.name for one in drivers.cluster(endpoints).list_drivers(endpoints)
    }
    # Every driver briefly has no worker; it waits only if no worker has room.
    if driver == "SUBMITTED" and _fits_a_driver(room):
        return None
    what = "executors" if driver == "RUNNING" else "driver"
    return said(name, what, room, names, lambda ours: _file_of(endpoints, *ours))


def _news(endpoints: Endpoints, run: Run) -> str | None:
    """Return what YARN says of a driver that it has not started."""
    news = drivers.cluster(endpoints).status(endpoints, run.submission_id).news
    return f"YARN has not started its driver: {news}" if news else None


def _fits_a_driver(room: Room) -> bool:
    return any(cores >= 1 and memory >= _DRIVER_MIB for cores, memory in room.free)


def _file_of(endpoints: Endpoints, pipeline: str, run: str) -> Path:
    """Return the file by which a command finds a run."""
    folder = runs_folder(endpoints, pipeline) / run
    try:
        found = read_run(folder)
    except FileNotFoundError:
        return folder
    return found.given if found.given is not None and found.given.exists() else found.file


def said(name: str, what: str, room: Room, drivers: Mapping[str, str], file_of: FileOf) -> str:
    """Say which jobs a job waits for, and how it gets room.

    To end another run of its own pipeline is no way: the two are to be compared, and the one hands
    over to the other.

    Args:
        what: `driver` or `executors`.
        room: the cluster's jobs and free resources.
        drivers: the names of jobs by the ids of their drivers.
        file_of: returns the file by which commands find a run.
    """
    held: dict[str, int] = {}
    for share in (*room.applications, *room.drivers):
        holder = share.name if share.app_id else drivers.get(share.name) or share.name
        if holder != name and share.cores:
            held[holder] = held.get(holder, 0) + share.cores
    free = " and ".join(f"{cores} cores with {memory} MiB" for cores, memory in room.free)
    none = f"no worker has room for its {what} (free: {free or 'nothing, as no worker lives'})"
    more = _more(max(size_of(room.cores), len(held)) + 1)
    if not held:
        return f"{none}, and no job would free any: {more}"
    holders = ", ".join(f"{_who(job)} has {cores} cores" for job, cores in sorted(held.items()))
    ours = pipeline_and_run(name)
    others = [job for job in sorted(held) if not ours or run_of_job(job, ours[0]) is None]
    ending = f"; or end another: {_how(others, file_of)}" if others else ""
    return f"{none}: {holders}; {more}{ending}"


def _more(pipelines: int) -> str:
    """Say how the cluster gets room for so many small pipelines."""
    if elsewhere.is_named():
        return "give the cluster more cores and memory (infra/README.md)"
    return (
        f"make room: `{AT_ONCE_VARIABLE}={pipelines} slackwater up --yes`, which stops the jobs, "
        "gives the workers more, and resumes the jobs"
    )


def _who(job: str) -> str:
    ours = pipeline_and_run(job)
    return f"run {ours[1]} of {ours[0]}" if ours else f"{job!r}, which is not a run of a pipeline,"


def _how(jobs: list[str], file_of: FileOf) -> str:
    ours = [found for job in jobs if (found := pipeline_and_run(job))]
    if not ours:
        return "end the program that has them"
    return " or ".join(f"`slackwater stop {file_of(one)} --run {one[1]}`" for one in ours)
