"""Entities to Airflow: the only module that knows which operator carries out which step."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, BaseOperator, CronTriggerTimetable, Param

from dags.entities import (
    INCREMENTS,
    NEWS,
    PUBLISH,
    QUALITY,
    SUBMIT,
    UPKEEP,
    WAIT,
    BrokenFile,
    Deployment,
    StepKind,
    TaskStep,
    broken_file,
    pipeline_of,
    read_deployments,
)
from dags.operators.alerts import alerts
from dags.operators.await_progress import AwaitProgress
from dags.operators.check_again import CheckAgain
from dags.operators.choose_run import OnChange
from dags.operators.monitor import MonitorJob
from dags.operators.publish import PublishNews, PublishTable
from dags.operators.run_command import RunCommand, RunOnSubmitted, TendTables
from dags.operators.submit_stream import SubmitStream
from dags.render_actions import ALL_BUT_BACKFILL, PLACE_MAX, RETRY_DELAY, render_actions, run_param

MAX_DEPLOYMENTS = 16
"""Concurrent DAG runs of a continuous pipeline: one watches its job, the others end soon."""

MAX_TEXT = 20_000
"""Maximum characters of a pipeline file on the DAG's page."""

_JUST_PASSED = timedelta(minutes=2)
"""A first time that passes while Airflow reads the file, or is restarted, is not missed."""


def read_dags(
    root: Path, folder: Path, wanted: str | None = None
) -> tuple[list[DAG], list[BrokenFile]]:
    """Create the DAGs of each pipeline file; an unusable file does not affect the others.

    Args:
        root: the checkout.
        folder: of the pipeline files.
        wanted: only the DAGs of the pipeline that this one belongs to are needed; None: all.

    Returns:
        the DAGs in the order of their file names, and the files that gave none.
    """
    name = wanted and pipeline_of(wanted)
    deployments, broken = read_deployments(root, folder, name)
    dags = []
    for deployment in deployments:
        if name and name != deployment.name:
            continue
        try:
            dags.append(render(deployment))
            if deployment.continuous:
                dags.append(render_news(deployment))
            if deployment.upkeep is not None:
                dags.append(render_upkeep(deployment))
            dags.extend(render_actions(deployment))
        except Exception as error:  # Airflow's own rules, which go beyond ours
            broken.append(broken_file(deployment.file, error, root / deployment.file))
    return dags, broken


def render(deployment: Deployment) -> DAG:
    """Create the DAG of a deployment; the same deployment always gives the same DAG."""
    with DAG(
        auto_register=False,  # only by the loader: the search for problems creates DAGs too
        dag_id=deployment.name,
        schedule=deployment.cron,
        start_date=datetime(2020, 1, 1, tzinfo=UTC),
        catchup=False,
        # Increments must not overtake each other; a continuous job must not block the next trigger.
        max_active_runs=1 if deployment.cron else MAX_DEPLOYMENTS,
        allowed_run_types=ALL_BUT_BACKFILL,
        params=_params(deployment),
        tags=["slackwater", "increments" if deployment.cron else "continuous"],
        description=f"{deployment.topic} -> {deployment.table}, from {deployment.file}",
        doc_md=_doc(deployment),
        default_args={
            "owner": "slackwater",
            "retry_delay": RETRY_DELAY,
            "on_failure_callback": alerts(),
        },
    ) as dag:
        tasks = {step.task_id: _task(deployment, step) for step in deployment.steps}
        for step in deployment.steps:
            if step.after:
                tasks[step.after] >> tasks[step.task_id]
    return dag


def render_news(deployment: Deployment) -> DAG:
    """Create the DAG that updates the Asset after each later check of a continuous job.

    A separate DAG, as Airflow sends an Asset's event only when a task succeeds, and `check_again`
    runs as long as the job. It has nothing to be switched on: a paused one would hold news back.
    """
    with DAG(
        auto_register=False,
        dag_id=deployment.name + NEWS,
        schedule=None,
        start_date=datetime(2020, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        allowed_run_types=ALL_BUT_BACKFILL,
        tags=["slackwater", "news"],
        description=f"Updates {deployment.asset_uri} when {deployment.name}.check_again has passed",
        default_args={"owner": "slackwater", "retry_delay": RETRY_DELAY, "retries": 2},
    ) as dag:
        PublishNews(task_id=PUBLISH, asset=asset_of(deployment))
    return dag


def next_time(cron: str) -> CronTriggerTimetable:
    """Return a schedule whose first DAG run is the next one, for DAGs without a start date.

    By a mere cron expression Airflow begins with the time that has just passed, even if catchup is
    off: in a fresh project everything would run before there is anything to run on.
    """
    return CronTriggerTimetable(cron, timezone="UTC", run_immediately=_JUST_PASSED)


def asset_of(deployment: Deployment) -> Asset:
    """Return the Asset of a pipeline's table."""
    return Asset(name=f"{deployment.name}/{deployment.table}", uri=deployment.asset_uri)


def render_upkeep(deployment: Deployment) -> DAG:
    """Create the DAG that tends the tables of a pipeline, as its file schedules it.

    A separate DAG, as its times are others than those of deployments, which may run for months.
    """
    with DAG(
        auto_register=False,
        dag_id=deployment.name + UPKEEP,
        schedule=deployment.upkeep and next_time(deployment.upkeep),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=ALL_BUT_BACKFILL,
        tags=["slackwater", "upkeep"],
        description=f"Merges small files of {deployment.table}, and removes old ones",
        default_args={"owner": "slackwater", "retry_delay": RETRY_DELAY, "retries": 2},
    ) as dag:
        first, then = (
            TendTables(task_id=action, file=deployment.file, action=action)
            for action in ("optimize", "vacuum")
        )
        first >> then
    return dag


def _task(deployment: Deployment, step: TaskStep) -> BaseOperator:
    common: dict[str, Any] = {"task_id": step.task_id, "retries": step.retries}
    file, increments = deployment.file, deployment.cron is not None
    match step.kind:
        case StepKind.COMMAND:
            known = tuple(_params(deployment))
            return RunCommand(arguments=[step.verb, file], file=file, known=known, **common)
        case StepKind.RUN_COMMAND:
            return RunOnSubmitted(verb=step.verb, submit_task_id=SUBMIT, **common)
        case StepKind.SUBMIT:
            run = INCREMENTS if increments else None
            # One at a time, so that each sees what the previous one has done.
            return SubmitStream(
                file=file,
                first_run=run,
                available_now=increments,
                max_active_tis_per_dag=1,
                **common,
            )
        case StepKind.AWAIT:
            return AwaitProgress(file=file, submit_task_id=SUBMIT, owns_job=increments, **common)
        case StepKind.MONITOR:
            return MonitorJob(submit_task_id=SUBMIT, **common)
        case StepKind.CHECK_AGAIN:
            return CheckAgain(
                submit_task_id=SUBMIT,
                publish_task_id=PUBLISH,
                news_dag_id=deployment.name + NEWS,
                **common,
            )
        case StepKind.PUBLISH:
            return PublishTable(
                asset=asset_of(deployment),
                submit_task_id=SUBMIT,
                wait_task_id=WAIT,
                quality_task_id=QUALITY,
                **common,
            )


def _params(deployment: Deployment) -> dict[str, Param]:
    params = {**_params_of_run(), **_params_of_pace()}
    if deployment.cron:
        del params["check_minutes"]
    return params


def _params_of_run() -> dict[str, Param]:
    return {
        "run": run_param(
            "Name of the run, which is its checkpoint's identity. Empty: continue the live run, "
            "else the newest. A new name starts at the topic's beginning; the name of an earlier "
            "run resumes from its checkpoint."
        ),
        "on_change": Param(
            OnChange.refuse.value,
            enum=[choice.value for choice in OnChange],
            title="If something else is running",
            description="What to do if the file was changed so that the run cannot continue, or "
            "another run is named while a job is running. refuse: nothing, and say so. new_run: "
            "stop the job, and start a new run. beside: leave it alone, and start a new run as its "
            "shadow, to be compared and handed over to.",
        ),
        "begin_at": Param(
            None,
            type=["null", "string"],
            maxLength=PLACE_MAX,
            title="Begin at",
            description="Where a new run starts: where another run is, by its name; at an append "
            'time, as 2013-01-02T00:00Z; at offsets, as {"0": 100}. Empty: at the topic\'s '
            "beginning.",
        ),
    }


def _params_of_pace() -> dict[str, Param]:
    return {
        "wait_minutes": Param(
            360,
            type="integer",
            minimum=1,
            title="Minutes to wait",
            description="How long the job may take to pass the topic's end.",
        ),
        "check_minutes": Param(
            60,
            type=["null", "integer"],
            minimum=1,
            title="Minutes between checks",
            description="How often the expectations are checked while the job is running. Empty: "
            "only once, when it has passed the topic's end.",
        ),
        "max_offsets": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="Offsets per batch",
            description="Throttles the job: at most this many offsets in one micro-batch.",
        ),
    }


def _doc(deployment: Deployment) -> str:
    when = f"at {_code(deployment.cron)} (UTC)" if deployment.cron else "by a trigger"
    how = "processes what is there, then ends" if deployment.cron else "runs continuously"
    queries = ", ".join(_code(query) for query in deployment.keys)
    return (
        f"Deploys {_code(deployment.file)}: topic {_code(deployment.topic)}, queries {queries}, "
        f"table {_code(deployment.table)}. Started {when}; the job {how}.\n\n"
        "`wait_for_progress` green means that the job's committed offsets have passed the end that "
        "the topic had when the wait began – not that a process has ended.\n\n"
        f"{_BACKFILL if deployment.cron else _MONITOR}\n\n"
        f"Updates the Asset {_code(deployment.asset_uri)}.\n\n"
        "The current file (for the deployed one, see XCom `deployed_file` of `submit`):\n\n"
        f"{_quoted(deployment.text)}"
    )


_MONITOR = (
    "`monitor` represents the job: deferred (purple) while it lives, red when it has died, skipped "
    "when it was stopped or replaced; `check_again` turns red once an expectation no longer holds. "
    "Marking `monitor`, or the DAG run, failed stops the job. Clearing it resumes the job from its "
    "checkpoint. **Pausing the DAG stops no job**, but nothing new starts; to stop the job, "
    "trigger the DAG of the same name with `.stop` behind it."
)

_BACKFILL = (
    "An increment reads what is new on the topic since the last one, whatever the hour: a missed "
    "hour leaves nothing to fill in, and there is **no backfill**. To process the whole topic "
    "again, trigger with a new name as `run`. Pausing the DAG lets a running increment finish; "
    "marking it failed stops its job."
)


def _code(text: str) -> str:
    """Quote a name in Markdown so that the name cannot end the quotation."""
    one_line = " ".join(text.split())
    ticks = _ticks(one_line, 1)
    return (
        f"{ticks} {one_line} {ticks}"
        if "`" in one_line[:1] + one_line[-1:]
        else (f"{ticks}{one_line}{ticks}")
    )


def _ticks(text: str, least: int) -> str:
    """Return more backticks than stand one after the other in a text."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def _quoted(text: str) -> str:
    """Quote a file's text in a Markdown fence that the text cannot close."""
    cut = text[:MAX_TEXT]
    fence = _ticks(cut, 3)
    more = "" if cut == text else f"\n\n… and {len(text) - MAX_TEXT:,} characters more"
    return f"{fence}yaml\n{cut.rstrip()}\n{fence}{more}"
