"""The nightly DAG: every chaos plan in turn, and a page with their reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, Asset, Param, chain

from dags.entities import NIGHTLY, NIGHTLY_TASKS
from dags.operators.publish_reports import PublishReports, Verdict
from dags.operators.run_plan import RunPlan
from infra.layout import default_layout

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
        schedule="30 1 * * *",
        start_date=datetime(2020, 1, 1, tzinfo=UTC),
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
        parameter="plan",
        choice=name,
        plan=plan,
        report=f"{folder}/{name}",
        trigger_rule="all_done",
        execution_timeout=timedelta(hours=PLAN_HOURS),
    )
