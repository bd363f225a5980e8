"""Runs of a pipeline: their folders, their submission, and how far each has come.

A run is one checkpoint. Its folder holds the checkpoint and a note of how it was submitted; its
rows are in the pipeline's table under the run's name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from infra import spark, spark_rest
from infra.endpoints import Endpoints
from infra.errors import NotReady
from infra.kafka_settings import settings_for
from infra.kafka_spelling import hand_over
from windowing.spec import Pipeline, PipelineError, load_pipeline
from windowing.spec.joining import with_lanes
from windowing.spec.names import RUN_MAX, check_name
from windowing.spec.source import Source

FAILURE_FILE = "failure.json"
SECRETS_FOLDER = "kafka"
"""In a run's folder: how its job reaches a cluster that wants a login; for our eyes only."""

_NOTE_FILE = "run.json"
_SCRIPT = "jobs/pipeline.py"


class RunError(RuntimeError):
    """A run that does not exist, or that cannot be what was asked for."""

    exit_code = 1


class RunNameError(RunError):
    """A name that no run can have."""

    exit_code = 2


@dataclass(frozen=True)
class Run:
    """One run of a pipeline.

    Attributes:
        pipeline: its name.
        run: the run's name.
        submission_id: the driver's, at the cluster.
        folder: checkpoint and notes.
        checkpoint: Spark's checkpoint.
        table: the pipeline's table folder, shared by all its runs.
        file: the run's own copy of the pipeline file.
    """

    pipeline: str
    run: str
    submission_id: str
    folder: Path
    checkpoint: Path
    table: Path
    file: Path


def folder_of(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Path:
    """The folder of a run.

    Raises:
        RunNameError: the name cannot be that of a folder.
    """
    try:
        check_name(run, RUN_MAX)
    except ValueError as error:
        msg = f"--run: {error}"
        raise RunNameError(msg) from None
    return endpoints.state_dir / "runs" / pipeline.name / run


def table_of(endpoints: Endpoints, pipeline: Pipeline) -> Path:
    """The folder of a pipeline's tables."""
    return endpoints.state_dir / "tables" / pipeline.output


def submit(
    endpoints: Endpoints,
    pipeline: Pipeline,
    file: Path,
    run: str,
    *,
    max_offsets: int | None = None,
    available_now: bool = False,
    parallelism: int | None = None,
    conf: Mapping[str, str] | None = None,
    first: Mapping[int, int] | None = None,
    end: Mapping[int, int] | None = None,
) -> Run:
    """Submit a run, or attach to it where it is running already.

    The pipeline file is copied into the run's folder, so that a supervised restart runs what was
    submitted, whatever happens to the file meanwhile.

    Args:
        endpoints: of the running stack.
        pipeline: what to run.
        file: the pipeline file, for its name.
        run: the run's name.
        max_offsets: offsets per batch at the most; None for no limit.
        available_now: take what is there, then end.
        parallelism: how many tasks run the lanes, and the shards; None: as the job has it.
        conf: Spark settings beside those of the cluster.
        first: per partition, where a fresh checkpoint begins; None: at the beginning.
        end: per partition, the first offset to be left out; None: all is read.
    """
    folder = folder_of(endpoints, pipeline, run)
    folder.mkdir(parents=True, exist_ok=True)
    # One job per pipeline: another run's would keep the cores and write beside this one. And a job
    # that has given up may still be on its way out: nobody must attach to it.
    failed = folder / FAILURE_FILE
    stop(endpoints, pipeline, keep=None if failed.exists() else run)
    failed.unlink(missing_ok=True)
    copied = folder / file.name
    # Lanes that have joined the run stay with it, whether or not the user's file knows of them.
    text = as_accepted(endpoints, pipeline, run).text
    copied.write_text(text, encoding="utf-8")
    checkpoint, table = folder / "checkpoint", table_of(endpoints, pipeline)
    args = [str(copied), "--run", run, "--bootstrap", endpoints.kafka_bootstrap]
    args += ["--checkpoint", str(checkpoint), "--table", str(table)]
    settings = settings_for(endpoints.kafka_bootstrap)
    if settings.is_more:
        # By a file, which outlives this process: the master starts a dead driver again.
        args += ["--kafka", str(hand_over(settings, folder / SECRETS_FOLDER))]
    if max_offsets is not None:
        args += ["--max-offsets", str(max_offsets)]
    if available_now:
        args.append("--available-now")
    if parallelism is not None:
        args += ["--parallelism", str(parallelism)]
    for option, offsets in (("--first", first), ("--end", end)):
        if offsets is not None:
            args += [option, json.dumps({str(lane): offset for lane, offset in offsets.items()})]
    submission_id = spark_rest.submit(
        endpoints,
        endpoints.code / _SCRIPT,
        args,
        name=_name(pipeline, run),
        conf=conf,
        supervise=not available_now,
    )
    result = Run(pipeline.name, run, submission_id, folder, checkpoint, table, copied)
    note = {key: str(value) for key, value in asdict(result).items()}
    (folder / _NOTE_FILE).write_text(json.dumps(note), encoding="utf-8")
    return result


def find(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Run:
    """A run that was submitted before.

    Raises:
        RunError: there is none of this name.
    """
    folder = folder_of(endpoints, pipeline, run)
    try:
        note = json.loads((folder / _NOTE_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"pipeline {pipeline.name} has no run {run!r}: submit it first"
        raise RunError(msg) from None
    return Run(
        pipeline=note["pipeline"],
        run=note["run"],
        submission_id=note["submission_id"],
        folder=Path(note["folder"]),
        checkpoint=Path(note["checkpoint"]),
        table=Path(note["table"]),
        file=Path(note["file"]) if "file" in note else _copy_in(folder),
    )


def _copy_in(folder: Path) -> Path:
    """The copy of the file in the folder of a run whose note does not say which it is."""
    copies = [path for path in folder.iterdir() if path.suffix in (".yml", ".yaml")]
    if len(copies) != 1:
        msg = f"{folder} has {len(copies)} pipeline files, not one: submit the run once more"
        raise RunError(msg)
    return copies[0]


def as_accepted(endpoints: Endpoints, pipeline: Pipeline, run: str) -> Pipeline:
    """The pipeline with the lanes that joined a run, if it is the run's but for them.

    A file that tells of a lane's joining otherwise than the run stays what it is: another pipeline.

    Args:
        endpoints: whose state folder has the run; there may be no run of this name.
        pipeline: the file as the user has it.
        run: the run's name.
    """
    if not (folder_of(endpoints, pipeline, run) / _NOTE_FILE).exists():
        return pipeline
    told = pipeline.source.joined_lanes
    try:
        own = load_pipeline(find(endpoints, pipeline, run).file)
        joined = own.source.joined_lanes
        if told == joined or told != joined[: len(told)]:
            return pipeline
        grown = with_lanes(pipeline, joined)
    except PipelineError:
        return pipeline
    return grown if grown.fingerprint == own.fingerprint else pipeline


def failure(run: Run) -> str | None:
    """Why a run's job gave up; None: it did not."""
    file = run.folder / FAILURE_FILE
    return json.loads(file.read_text(encoding="utf-8"))["error"] if file.exists() else None


def newest(endpoints: Endpoints, pipeline: Pipeline) -> Run | None:
    """The run that was submitted last; None: there is none."""
    notes = (endpoints.state_dir / "runs" / pipeline.name).glob(f"*/{_NOTE_FILE}")
    last = max(notes, key=lambda note: note.stat().st_mtime, default=None)
    return None if last is None else find(endpoints, pipeline, last.parent.name)


def stop(endpoints: Endpoints, pipeline: Pipeline, keep: str | None = None) -> list[str]:
    """End the running drivers of a pipeline, but that of the run `keep`; gives their runs."""
    stopped = []
    for driver in spark_rest.list_drivers(endpoints):
        prefix = _name(pipeline, "")
        run = driver.name.removeprefix(prefix)
        if run in (driver.name, keep) or driver.state not in spark_rest.ALIVE:
            continue
        spark_rest.kill(endpoints, driver.submission_id)
        # A job that was ended for good needs its login no more.
        shutil.rmtree(folder_of(endpoints, pipeline, run) / SECRETS_FOLDER, ignore_errors=True)
        stopped.append(run)
    return stopped


def _name(pipeline: Pipeline, run: str) -> str:
    return f"slackwater:{pipeline.name}:{run}"


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        state: the driver's at the cluster; FAILED with `error` where the job gave up; WAITING where
            the driver runs and the cluster has no cores or memory left for its executors.
        batches: how many batches are committed.
        committed: per partition, the next offset after the last committed batch.
        behind: offsets up to the target that are not committed yet.
        error: why the job gave up, else None.
        log: folder of the driver's output, where it is on this machine.
    """

    state: str
    batches: int
    committed: Mapping[int, int]
    behind: int
    error: str | None = None
    log: str | None = None

    @property
    def done(self) -> bool:
        """Whether every offset up to the target is committed."""
        return self.behind == 0


def progress(
    endpoints: Endpoints, run: Run, until: Mapping[int, int], source: Source | None = None
) -> Progress:
    """How far a run is from the offsets `until` (per lane, exclusive).

    Args:
        endpoints: of the stack.
        run: the run.
        until: by the numbers of the lanes.
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    batches, committed = committed_offsets(run.checkpoint, source)
    behind = sum(max(0, end - committed.get(lane, 0)) for lane, end in until.items())
    driver = spark_rest.status(endpoints, run.submission_id)
    log = str(driver.log_dir) if driver.log_dir else None
    error = failure(run)
    if error is not None:
        return Progress("FAILED", batches, committed, behind, error, log)
    waits = driver.state == "RUNNING" and _waits(endpoints, run)
    state = "WAITING" if waits else driver.state
    return Progress(state, batches, committed, behind, log=log)


def application_name(pipeline: str) -> str:
    """What Spark calls the job of a pipeline."""
    return f"slackwater {pipeline}"


def _waits(endpoints: Endpoints, run: Run) -> bool:
    """Whether its application waits for executors; false where the master does not say."""
    try:
        return application_name(run.pipeline) in spark.waiting(endpoints.spark_ui)
    except NotReady:
        return False


def committed_offsets(checkpoint: Path, source: Source | None = None) -> tuple[int, dict[int, int]]:
    """What the checkpoint says is done: the number of batches, and the next offset per lane.

    The checkpoint is the only place where offsets are kept; this reads Spark's own files.

    Args:
        checkpoint: the run's.
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    numbers = [int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")]
    if not numbers:
        return 0, {}
    last = max(numbers)
    lines = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
    by_topic = json.loads(lines[-1])
    offsets: dict[int, int] = {}
    for topic, partitions in by_topic.items():
        for partition, offset in partitions.items():
            number = int(partition) if source is None else source.number(topic, int(partition))
            if number is not None:
                offsets[number] = int(offset)
    return last + 1, offsets
