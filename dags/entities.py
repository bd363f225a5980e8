"""The deployment of a pipeline as plain data, without Airflow.

A pipeline file becomes a `Deployment`, a graph of `TaskStep`s. `dags.render` turns it into a DAG.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from infra.layout import PLANS_VARIABLE
from windowing.model import Pipeline, PipelineError, Problem, load_pipeline
from windowing.model.file.yaml_lines import SHARED_LIMITS, line_of, load_with_lines
from windowing.model.schedule import CONTINUOUS

SUBMIT = "submit"
WAIT = "wait_for_progress"
QUALITY = "quality"
PUBLISH = "publish"
MONITOR = "monitor"

INCREMENTS = "increments"
"""The first run of a pipeline with a cron schedule: each increment continues from the last one's
checkpoint, so all of them share one run."""

UPKEEP = ".upkeep"
"""Ends the name of the DAG that tends a pipeline's tables; no pipeline's name may end so."""

NEWS = ".news"
"""Ends the name of the DAG that updates a continuous pipeline's Asset after each later check; no
pipeline's name may end so."""

DEPLOY, STOP, HANDOVER, VERIFY, REPLAY = "deploy", "stop", "handover", "verify", "replay"

ACTIONS = (STOP, HANDOVER, VERIFY, REPLAY)
"""What can be asked of a pipeline besides its deployment: each has a DAG with one task, named like
the subcommand of `slackwater` that it calls."""

_BESIDE = {
    NEWS: "the news of a pipeline's table",
    UPKEEP: "the upkeep of a pipeline's tables",
    **{f".{action}": f"the action {action} of a pipeline" for action in ACTIONS},
}
"""The DAGs beside that of a deployment, by the end of their names."""

NIGHTLY = "chaos_nightly"
"""The DAG of the chaos plans; no pipeline may have its name."""

NIGHTLY_TASKS = ("publish", "verdict")
"""The tasks of that DAG which are no plan; no plan may have their names."""

_TASK = re.compile(r"[A-Za-z0-9_.-]{1,250}")
"""What Airflow takes for the name of a task."""

AUDITS = "audit_nightly"
"""The DAG of the audits; no pipeline may have its name."""


class StepKind(Enum):
    """The way a step is carried out."""

    COMMAND = "command"
    RUN_COMMAND = "command that works on the submitted run"
    SUBMIT = "submit"
    AWAIT = "await"
    PUBLISH = "publish"
    MONITOR = "monitor"
    CHECK_AGAIN = "check again"


@dataclass(frozen=True)
class TaskStep:
    """One task.

    Attributes:
        kind: how it is carried out.
        verb: the subcommand of `slackwater`, if there is one.
        after: the previous step; empty: it is the first.
        retries: number of retries; 0 if a retry could not end differently.
    """

    task_id: str
    kind: StepKind
    verb: str = ""
    after: str = ""
    retries: int = 0


@dataclass(frozen=True)
class Deployment:
    """Everything that the DAG of one pipeline needs.

    Attributes:
        name: the pipeline's and the DAG's name.
        file: the pipeline file, relative to the checkout.
        cron: when increments run; None: a continuous job, started by a trigger.
        upkeep: when its tables are tended; None: only on demand.
        keys: the fields of the key of each query, by its name.
        text: of the file, for people to read.
        digest: of the file's content, see `digest_of`.
        steps: each one follows the step it comes after.
    """

    name: str
    file: str
    cron: str | None
    upkeep: str | None
    topic: str
    table: str
    keys: Mapping[str, tuple[str, ...]]
    text: str
    digest: str
    steps: tuple[TaskStep, ...]

    @property
    def continuous(self) -> bool:
        """Whether a job runs as long as nobody stops it."""
        return self.cron is None

    @property
    def asset_uri(self) -> str:
        """The URI of the Asset that a successful deployment updates."""
        return f"slackwater://{self.name}/{self.table}"


@dataclass(frozen=True)
class BrokenFile:
    """A pipeline file that cannot be used.

    Attributes:
        file: relative to the checkout.
        message: every problem with its line, field and rule, one per line.
    """

    file: str
    message: str


_STEPS = (
    TaskStep("validate", StepKind.COMMAND, "validate"),
    TaskStep("create_topics", StepKind.COMMAND, "topics", after="validate", retries=2),
    TaskStep(SUBMIT, StepKind.SUBMIT, "submit", after="create_topics", retries=2),
    TaskStep(WAIT, StepKind.AWAIT, "progress", after=SUBMIT, retries=2),
    TaskStep(QUALITY, StepKind.RUN_COMMAND, "quality", after=WAIT),
    TaskStep(PUBLISH, StepKind.PUBLISH, after=QUALITY, retries=2),
)
"""Return the steps of every deployment; only their arguments differ between pipelines."""

_AS_LONG_AS_IT_LIVES = (
    TaskStep(MONITOR, StepKind.MONITOR, "runs", after=SUBMIT, retries=3),
    TaskStep("check_again", StepKind.CHECK_AGAIN, "quality", after=PUBLISH),
)
"""Return a continuous job's steps. The monitor is parallel to the wait, so it notices a death
there."""


def deployment_of(pipeline: Pipeline, file: str) -> Deployment:
    """Derive the deployment of a valid pipeline.

    Args:
        file: its name relative to the checkout.

    Raises:
        PipelineError: another of our DAGs has its name.
    """
    if (owner := _owner_of(pipeline.name)) is not None:
        rule = f"{pipeline.name!r} is the DAG of {owner}: give the pipeline another name"
        _, lines = load_with_lines(pipeline.text, file)
        raise PipelineError([Problem(file, line_of(("name",), lines), "name", rule)])
    return Deployment(
        name=pipeline.name,
        file=file,
        cron=None if pipeline.schedule == CONTINUOUS else pipeline.schedule,
        upkeep=None if pipeline.upkeep is None else pipeline.upkeep.schedule,
        topic=pipeline.source.topic,
        table=pipeline.output,
        keys={query.name: tuple(query.key) for query in pipeline.flows},
        text=pipeline.text,
        digest=digest_of(pipeline.text.encode()),
        steps=(*_STEPS, *_AS_LONG_AS_IT_LIVES) if pipeline.schedule == CONTINUOUS else _STEPS,
    )


def _owner_of(name: str) -> str | None:
    """Return what else has a DAG of this name; None: nothing."""
    if name == NIGHTLY:
        return "the chaos plans"
    if name == AUDITS:
        return "the nightly audits"
    return next((owner for end, owner in _BESIDE.items() if name.endswith(end)), None)


def pipeline_of(dag_id: str) -> str:
    """Return the pipeline that a DAG belongs to: its own, or one of those beside it."""
    end = next((end for end in _BESIDE if dag_id.endswith(end)), "")
    return dag_id.removesuffix(end)


def dag_of(pipeline: str, action: str) -> str:
    """Return the DAG that carries out an action on a pipeline."""
    return pipeline if action == DEPLOY else f"{pipeline}.{action}"


def digest_of(content: bytes) -> str:
    """Return what distinguishes one content of a pipeline file from another."""
    return hashlib.sha256(content).hexdigest()


def read_deployments(
    root: Path, folder: Path | None = None, wanted: str | None = None
) -> tuple[list[Deployment], list[BrokenFile]]:
    """Read all pipeline files of a folder; a broken file does not affect the others.

    Imports nothing that a file names. What a file costs is limited: Airflow reads it again and
    again, for everybody.

    Args:
        root: the checkout; files in it are named relative to it.
        folder: of the files; None: the checkout's `pipelines`.
        wanted: only the pipeline of this name is needed; None: all.

    Returns:
        the deployments in the order of their file names, and the files that cannot be used. Of
        two files with one pipeline name, the second is among the latter.
    """
    deployments: dict[str, Deployment] = {}
    broken: list[BrokenFile] = []
    for path, file in pipeline_files(root, folder):
        if wanted is not None and not may_name(path, wanted):
            continue
        found = read_file(path, file)
        if isinstance(found, BrokenFile):
            broken.append(found)
            continue
        other = deployments.setdefault(found.name, found)
        if other is not found:
            rule = f"{found.name!r} is the name of {other.file} too: give each its own"
            broken.append(BrokenFile(file, f"{file}: name: {rule}"))
    return list(deployments.values()), broken


def pipeline_files(root: Path, folder: Path | None = None) -> Iterator[tuple[Path, str]]:
    """Yield the pipeline files of a folder in order: each with its name for commands and people.

    Args: as for `read_deployments`.
    """
    for path in sorted((folder or root / "pipelines").glob("*.yml")):
        yield path, name_of(path, root)


def name_of(path: Path, root: Path) -> str:
    """Return a file's name, relative to the checkout if it is in it; never one like an option."""
    name = (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
    return f"./{name}" if name.startswith("-") else name


def may_name(path: Path, pipeline: str) -> bool:
    """Whether a file could be that of a pipeline: a look at its bytes, which costs next to nothing.

    A name stands in its file as it is, unless it is written with escapes.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            content = file.read(SHARED_LIMITS.bytes_max + 1)
    except OSError:
        return False
    too_large = len(content) > SHARED_LIMITS.bytes_max
    return not too_large and (pipeline.encode() in content or b"\\" in content)


def read_file(path: Path, file: str) -> Deployment | BrokenFile:
    """Read one pipeline file.

    Args:
        file: its name for commands and people.
    """
    try:
        return _deployment_in(path, file)
    except Exception as error:  # reported as broken; must not hide the others
        return broken_file(file, error, path)


def broken_file(file: str, error: Exception, path: Path) -> BrokenFile:
    """Say what is wrong with a file that could not be read, or gave no DAG.

    Args:
        path: its full name, which is not shown.
    """
    if isinstance(error, PipelineError):
        return BrokenFile(file, str(error).replace(str(path), file))
    return BrokenFile(file, f"{file}: cannot be read: {type(error).__name__}: {error}")


def _deployment_in(path: Path, file: str) -> Deployment:
    # Reading a pipe would block forever.
    if not path.is_file():
        raise PipelineError([Problem(file, 0, "", "is not a file: take it out of the folder")])
    return deployment_of(load_pipeline(path, SHARED_LIMITS), file)


def read_plans(root: Path) -> list[str]:
    """List the chaos plans of a checkout or a project by file name, relative to it if possible.

    Args:
        root: the checkout, or the project, whose folder of plans is named by SLACKWATER_PLANS.
    """
    return [file for file in _plan_files(root) if _plan_problem(file) is None]


def broken_plans(root: Path) -> list[BrokenFile]:
    """List the chaos plans that cannot be used: those whose names no task can have."""
    found = {file: _plan_problem(file) for file in _plan_files(root)}
    return [BrokenFile(file, f"{file}: {why}") for file, why in found.items() if why is not None]


def _plan_files(root: Path) -> list[str]:
    named = os.environ.get(PLANS_VARIABLE)
    plans = sorted((Path(named) if named else root / "chaos" / "plans").glob("*.yml"))
    return [name_of(path, root) for path in plans]


def _plan_problem(file: str) -> str | None:
    name = Path(file).stem
    if _TASK.fullmatch(name) and name not in NIGHTLY_TASKS:
        return None
    rule = "use letters, digits, `_ . -`, and neither of " + " and ".join(NIGHTLY_TASKS)
    return f"{name!r} cannot be the name of a task: {rule}"


def plan_names(root: Path) -> dict[str, str]:
    """Return the chaos plans of a checkout or a project: their files by name."""
    return {Path(file).stem: file for file in read_plans(root)}


def run_name(run_id: str, clear_number: int) -> str:
    """Name the run (the checkpoint's identity) of a DAG run.

    Args:
        run_id: Airflow's id of the DAG run; any text.
        clear_number: how often the DAG run has been cleared.

    Returns:
        A name fit for files and URLs: the same for every retry, a new one after a clear.
    """
    digest = hashlib.sha256(f"{clear_number}:{run_id}".encode()).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9_.]+", "-", run_id).strip("-.")[:60]
    return f"{slug}-{digest}" if slug else digest
