"""Entities to Airflow: the only place that knows which operator carries out which step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, BaseOperator, Param, chain

from dags.entities import (
    INCREMENTS,
    QUALITY,
    SUBMIT,
    WAIT,
    BrokenFile,
    Deployment,
    Step,
    StepKind,
    broken_file,
    read_deployments,
)
from dags.operators.await_progress import AwaitProgress
from dags.operators.publish import PublishTable
from dags.operators.run_command import RunCommand
from dags.operators.submit_stream import SubmitStream

SUBMITTED_RUN = f"{{{{ ti.xcom_pull(task_ids='{SUBMIT}')['run'] }}}}"
"""The run that was submitted: asked of the task, so that a step cleared later keeps it."""

RETRY_DELAY = timedelta(seconds=10)


def read_dags(
    root: Path, folder: Path, wanted: str | None = None
) -> tuple[list[DAG], list[BrokenFile]]:
    """Makes a DAG of each pipeline file; one that cannot be used leaves the others alone.

    Args:
        root: the checkout.
        folder: of the pipeline files.
        wanted: the only DAG that is needed; None: all.

    Returns:
        the DAGs in the order of their file names, and the files that gave none.
    """
    deployments, broken = read_deployments(root, folder)
    dags = []
    for deployment in deployments:
        if wanted and wanted != deployment.name:
            continue
        try:
            dags.append(render(deployment))
        except Exception as error:  # Airflow's own rules, which are more than ours
            broken.append(broken_file(deployment.file, error, root / deployment.file))
    return dags, broken


def render(deployment: Deployment) -> DAG:
    """Makes the DAG of a deployment; the same deployment always gives the same DAG."""
    with DAG(
        auto_register=False,  # by the loader alone: whoever looks for problems makes DAGs, too
        dag_id=deployment.name,
        schedule=deployment.cron,
        start_date=datetime(2020, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        params=_params(deployment),
        tags=["slackwater", "increments" if deployment.cron else "continuous"],
        description=f"{deployment.topic} -> {deployment.table}, from {deployment.file}",
        doc_md=_doc(deployment),
        default_args={"owner": "slackwater", "retry_delay": RETRY_DELAY},
    ) as dag:
        chain(*[_task(deployment, step) for step in deployment.steps])
    return dag


def _task(deployment: Deployment, step: Step) -> BaseOperator:
    common: dict[str, Any] = {"task_id": step.task_id, "retries": step.retries}
    file = deployment.file
    match step.kind:
        case StepKind.COMMAND:
            return RunCommand(arguments=[step.verb, file], **common)
        case StepKind.RUN_COMMAND:
            return RunCommand(arguments=[step.verb, file, "--run", SUBMITTED_RUN], **common)
        case StepKind.SUBMIT:
            increments = deployment.cron is not None
            run = INCREMENTS if increments else None
            return SubmitStream(file=file, fixed_run=run, available_now=increments, **common)
        case StepKind.AWAIT:
            return AwaitProgress(file=file, submit_task_id=SUBMIT, **common)
        case StepKind.PUBLISH:
            asset = Asset(name=f"{deployment.name}/{deployment.table}", uri=deployment.asset_uri)
            return PublishTable(
                asset=asset,
                submit_task_id=SUBMIT,
                wait_task_id=WAIT,
                quality_task_id=QUALITY,
                **common,
            )


def _params(deployment: Deployment) -> dict[str, Param]:
    default = (
        f"Left empty: `{INCREMENTS}`, which every increment goes on with."
        if deployment.cron
        else "Left empty: a new run, from the beginning of the topic."
    )
    return {
        "run": Param(
            None,
            type=["null", "string"],
            pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$",
            title="Run",
            description=f"Name of the run, which is its checkpoint's identity. {default} "
            "The name of an earlier run goes on from its checkpoint.",
        ),
        "wait_minutes": Param(
            360,
            type="integer",
            minimum=1,
            title="Minutes to wait",
            description="How long the job may take to pass the topic's end.",
        ),
        "max_offsets": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="Offsets per batch",
            description="Throttles the job: at most so many offsets in one micro-batch.",
        ),
    }


def _doc(deployment: Deployment) -> str:
    when = f"at `{deployment.cron}` (UTC)" if deployment.cron else "by a trigger"
    how = "processes what is there, then ends" if deployment.cron else "runs on"
    queries = ", ".join(f"`{query}`" for query in deployment.queries)
    return (
        f"Deploys `{deployment.file}`: topic `{deployment.topic}`, queries {queries}, table "
        f"`{deployment.table}`. Started {when}; the job {how}.\n\n"
        "Green means that the job's committed offsets have passed the end that the topic had "
        "when the wait began, and that the quality checks hold – not that a process has ended.\n\n"
        f"Updates the Asset `{deployment.asset_uri}`."
    )
