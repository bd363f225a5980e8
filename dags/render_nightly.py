"""The DAGs of every night: the audits of all pipelines, and every chaos plan in turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Asset, Param, chain

from dags.entities import AUDITS, NIGHTLY, NIGHTLY_TASKS, Deployment
from dags.operators.alerts import alerts
from dags.operators.audit import AuditRun
from dags.operators.publish import PublishReports, Verdict
from dags.operators.run_command import RunPlan
from dags.render import asset_of, next_time
from infra.layout import default_layout

AUDIT_HOURS = 6


def render_audits(deployments: Sequence[Deployment]) -> DAG:
    """Create the DAG; the same pipelines always give the same DAG.

    Pipelines are audited one after the other, as their jobs run meanwhile; a verdict that is
    bad does not hold up the next.
    """
    names = [deployment.name for deployment in deployments]
    with DAG(
        dag_id=AUDITS,
        schedule=next_time("30 0 * * *"),
        catchup=False,
        max_active_runs=1,
        max_active_tasks=1,
        # It changes nothing, and without it nobody knows after a day whether the rows are right.
        is_paused_upon_creation=False,
        params={
            "pipeline": Param(
                None,
                type=["null", "string"],
                enum=[None, *names],
                title="Pipeline",
                description="Only this one. Left empty: all.",
            )
        },
        tags=["slackwater", "audits"],
        description="Compares what pipelines have written since the last audit with the definition",
        default_args={
            "owner": "slackwater",
            "retries": 0,
            "on_failure_callback": alerts(),
            "execution_timeout": timedelta(hours=AUDIT_HOURS),
        },
    ) as dag:
        for deployment in deployments:
            AuditRun(
                task_id=deployment.name,
                pipeline=deployment.name,
                file=deployment.file,
                audited=asset_of(deployment),
                asset=Asset(
                    name=f"{deployment.name}/{deployment.table}/audit",
                    uri=f"{deployment.asset_uri}/audit",
                ),
            )
    return dag


REPORTS = Asset(name=f"{NIGHTLY}/reports", uri=f"slackwater://{NIGHTLY}/reports")
PLAN_HOURS = 3


def render_nightly(plans: Sequence[str]) -> DAG:
    """Create the DAG; the same plans always give the same DAG.

    Plans run one after the other, since each starts a stack; a failed one does not hold up the
    next. The reports are published in any case; the run is green if all plans are.

    Args:
        plans: the plan files, relative to the checkout.
    """
    # The folder of the Data Docs page, so that the UI shows the reports too.
    folder = default_layout().data_docs(NIGHTLY)
    publish_id, verdict_id = NIGHTLY_TASKS
    with DAG(
        dag_id=NIGHTLY,
        schedule=next_time("30 1 * * *"),
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=True,
        params={
            "plan": Param(
                None,
                type=["null", "string"],
                enum=[None, *(Path(plan).stem for plan in plans)],
                title="Plan",
                description="Only this one. Left empty: all.",
            ),
            "seed": Param(
                None,
                type=["null", "integer"],
                minimum=0,
                title="Seed",
                description="Of victims and moments. Left empty: the date.",
            ),
        },
        tags=["slackwater", "chaos"],
        description="Breaks a running pipeline as every plan says, and proves its answer",
        default_args={"owner": "slackwater", "retries": 0},
    ) as dag:
        runs = [_run(plan, str(folder)) for plan in plans]
        publish = PublishReports(
            task_id=publish_id, asset=REPORTS, folder=str(folder), trigger_rule="all_done"
        )
        # A plan that was not chosen is skipped.
        verdict = Verdict(task_id=verdict_id, trigger_rule="none_failed")
        chain(*runs, publish)
        for task in (*runs, publish):
            task >> verdict
    return dag


def _run(plan: str, folder: str) -> RunPlan:
    name = Path(plan).stem
    return RunPlan(
        task_id=name,
        plan=plan,
        report=f"{folder}/{name}",
        trigger_rule="all_done",
        execution_timeout=timedelta(hours=PLAN_HOURS),
    )
