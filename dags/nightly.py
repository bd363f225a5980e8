"""The loader for Airflow: the DAGs of every night, audits and chaos plans, if there are any."""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.entities import AUDITS, NIGHTLY, read_deployments, read_plans
from dags.operators.command import pipelines_folder, project_root
from dags.render_nightly import render_audits, render_nightly

wanted = get_parsing_context().dag_id  # set when a task runs, which does not need the other DAG
if wanted in (None, AUDITS):
    # A file that cannot be used is an import error of `pipeline_problems.py`.
    deployments, _ = read_deployments(project_root(), pipelines_folder())
    if deployments:
        dag_audits = render_audits(deployments)
if wanted in (None, NIGHTLY) and (plans := read_plans(project_root())):
    dag_nightly = render_nightly(plans)
