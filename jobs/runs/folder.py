"""The folder of a run: name, note, and its own copy of the pipeline file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.endpoints import Endpoints
from windowing.files.places import place
from windowing.model import Pipeline, PipelineError, load_pipeline
from windowing.model.file.changes import as_written, with_control
from windowing.model.file.versions import QueryChange, query_change, with_lanes
from windowing.model.file.yaml_lines import RUN_LIMITS
from windowing.model.names import RUN_MAX, check_name

FAILURE_FILE = "failure.json"

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

NOTE_FILE = "run.json"
"""File in a run's folder that records its submission."""


class RunError(RuntimeError):
    """A run that does not exist, or does not allow the request."""

    exit_code = 1


class RunNameError(RunError):
    """An invalid name of a run."""

    exit_code = 2


@dataclass(frozen=True)
class Options:
    """The options of a run's submission; `start` uses them again.

    Attributes:
        max_offsets: maximum offsets per batch; None: no limit.
        parallelism: number of tasks for lanes, and for shards; None: the job's default.
        conf: Spark settings in addition to the cluster's.
        first: per partition, where a new checkpoint starts; None: at the beginning.
        end: per partition, the first offset to leave out; None: read everything.
        beside: keep the pipeline's other jobs running, and the live run as it is.
    """

    max_offsets: int | None = None
    available_now: bool = False
    parallelism: int | None = None
    conf: Mapping[str, str] | None = None
    first: Mapping[int, int] | None = None
    end: Mapping[int, int] | None = None
    beside: bool = False

    @classmethod
    def of(cls, noted: Mapping[str, Any]) -> Options:
        """Read the options from a note, in which partition numbers are strings."""
        first, end = (
            None if noted[name] is None else {int(lane): at for lane, at in noted[name].items()}
            for name in ("first", "end")
        )
        return cls(**{**noted, "first": first, "end": end})


@dataclass(frozen=True)
class Run:
    """One run of a pipeline.

    Attributes:
        submission_id: the driver's, at the cluster.
        folder: its notes.
        table: the pipeline's table folder, shared by all its runs.
        file: the run's own copy of the pipeline file.
        given: the file that it was submitted with, as given; None: the note does not say.
        submitted_at: when it was last submitted, in UTC.
        options: what it was submitted with besides the file.
        fingerprint: that of the pipeline at the start; None: the note does not say.
    """

    pipeline: str
    run: str
    submission_id: str
    folder: Path
    checkpoint: Path
    table: Path
    file: Path
    given: Path | None = None
    submitted_at: datetime = _LONG_AGO
    options: Options = field(default_factory=Options)
    fingerprint: str | None = None

    def facts(self) -> dict[str, str]:
        """Describe the run for programs that have submitted it."""
        names = ("pipeline", "run", "submission_id", "folder", "checkpoint", "table", "file")
        return {name: str(getattr(self, name)) for name in names}

    def own_pipeline(self) -> Pipeline:
        """The run's own copy of the file, with the lanes that have joined it.

        Raises:
            PipelineError: the copy is damaged.
        """
        return load_pipeline(self.file, RUN_LIMITS)


def folder_of(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Path:
    """Return the folder of a run.

    Raises:
        RunNameError: a folder cannot have this name.
    """
    return _folder_of(endpoints, pipeline.name, run)


def _folder_of(endpoints: Endpoints, pipeline: str, run: str) -> Path:
    try:
        check_name(run, RUN_MAX)
    except ValueError as error:
        msg = f"--run: {error}"
        raise RunNameError(msg) from None
    return runs_folder(endpoints, pipeline) / run


def runs_folder(endpoints: Endpoints, pipeline: str) -> Path:
    """Return the folder of all runs of a pipeline."""
    return endpoints.state_dir / "runs" / pipeline


def table_of(endpoints: Endpoints, pipeline: Pipeline) -> Path:
    """Return the folder of a pipeline's tables."""
    return _data(endpoints) / "tables" / pipeline.output


def checkpoint_of(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Path:
    """Return the place of a run's checkpoint: in the run's folder, or on HDFS if there is one."""
    return _data(endpoints) / "runs" / pipeline.name / run / "checkpoint"


def _data(endpoints: Endpoints) -> Path:
    """Return where jobs keep what grows."""
    return place(f"{endpoints.hdfs}/slackwater") if endpoints.hdfs else endpoints.state_dir


def find(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Run:
    """Find a run that was submitted before.

    Raises:
        RunError: there is none with this name.
    """
    return find_named(endpoints, pipeline.name, run)


def find_named(endpoints: Endpoints, pipeline: str, run: str) -> Run:
    """Find a run, by the pipeline's name."""
    folder = _folder_of(endpoints, pipeline, run)
    try:
        return read_run(folder)
    except FileNotFoundError:
        listed = ", ".join(one.run for one in every_run(endpoints, pipeline))
        has = f"; it has {listed}" if listed else ": submit it first"
        msg = f"pipeline {pipeline} has no run {run!r}{has}"
        raise RunError(msg) from None


def every_run(endpoints: Endpoints, pipeline: str) -> list[Run]:
    """List all runs of a pipeline, the last submitted one last."""
    notes = runs_folder(endpoints, pipeline).glob(f"*/{NOTE_FILE}")
    found = (read_run(note.parent) for note in notes)
    return sorted(found, key=lambda run: (run.submitted_at, run.run))


def newest(endpoints: Endpoints, pipeline: Pipeline) -> Run | None:
    """Return the run that was submitted last; None: there is none."""
    found = every_run(endpoints, pipeline.name)
    return found[-1] if found else None


def read_run(folder: Path) -> Run:
    """Read a run's note.

    Raises:
        FileNotFoundError: nothing was submitted from this folder.
        RunError: something else has written into the note.
    """
    file = folder / NOTE_FILE
    try:
        return _run_of(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        msg = (
            f"{file} is not what `submit` has written ({error!r}): put it back from a copy, or "
            "move the folder away and submit another run"
        )
        raise RunError(msg) from None


def _run_of(note: dict[str, Any]) -> Run:
    return Run(
        pipeline=note["pipeline"],
        run=note["run"],
        submission_id=note["submission_id"],
        folder=Path(note["folder"]),
        checkpoint=place(note["checkpoint"]),
        table=place(note["table"]),
        file=Path(note["file"]),
        given=Path(note["given"]) if note.get("given") else None,
        submitted_at=datetime.fromisoformat(note["submitted_at"]),
        options=Options.of(note["options"]),
        fingerprint=note.get("fingerprint"),
    )


def write_note(run: Run, folder: Path | None = None) -> None:
    """Write a run's note, completely or not at all.

    Args:
        folder: where to; None: the run's folder.
    """
    options = asdict(run.options)
    note = {name: str(value) for name, value in asdict(run).items() if value is not None}
    note["submitted_at"] = run.submitted_at.isoformat()
    write_whole((folder or run.folder) / NOTE_FILE, {**note, "options": options})


def write_whole(file: Path, what: object) -> None:
    """Write JSON to a file that others may read at any time: under another name, then renamed."""
    written = file.with_name(f".{file.name}.new")
    written.write_text(json.dumps(what), encoding="utf-8")
    written.replace(file)


def as_accepted(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Pipeline:
    """Return the pipeline with the lanes that joined a run, if it is the run's except for them.

    It may have queries in addition, or ends of some. If it is the run's without the changes that
    the log has made of its queries, these are added. In each case it has the run's tables of zones.

    A file whose joined lanes differ from the run's stays what it is: another pipeline.

    Args:
        endpoints: their state folder has the run; there may be no run with this name.
        pipeline: the file as the user has it.
    """
    if not (folder_of(endpoints, pipeline, run) / NOTE_FILE).exists():
        return pipeline
    declared = pipeline.source.added_lanes
    try:
        own = find(endpoints, pipeline, run).own_pipeline()
        pipeline = pipeline.keeping_zones(own.zone_tables)
        if (written := as_written(own)) is not own:
            if pipeline.fingerprint == written.fingerprint:
                return own
            change = query_change(written, pipeline)
            if change == QueryChange(control=True):
                return with_control(own, pipeline)
        joined = own.source.added_lanes
        if declared == joined or declared != joined[: len(declared)]:
            return pipeline
        grown = with_lanes(pipeline, joined)
    except PipelineError:
        return pipeline
    is_ours = grown.fingerprint == own.fingerprint or query_change(own, grown) is not None
    return grown if is_ours else pipeline


def failure(run: Run) -> str | None:
    """Return why a run's job gave up; None: it did not."""
    file = run.folder / FAILURE_FILE
    return json.loads(file.read_text(encoding="utf-8"))["error"] if file.exists() else None
