"""The DAG of audits: every night, each pipeline's live run is compared with the definition."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, Asset, Param

from dags.entities import AUDITS, Deployment
from dags.operators.alerts import alerts
from dags.operators.audit import AuditRun
from dags.render import asset_of

AUDIT_HOURS = 6


def render_audits(deployments: Sequence[Deployment]) -> DAG:
    """Create the DAG; the same pipelines always give the same DAG.

    Pipelines are audited one after the other, as their jobs run meanwhile; a verdict that is
    bad does not hold up the next.
    """
    names = [deployment.name for deployment in deployments]
    with DAG(
        dag_id=AUDITS,
        schedule="30 0 * * *",
        start_date=datetime(2020, 1, 1, tzinfo=UTC),
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
