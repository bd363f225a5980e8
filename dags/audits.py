"""The loader for Airflow: the DAG of the nightly audits, if there is a pipeline."""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.entities import AUDITS, read_deployments
from dags.operators.command import pipelines_folder, project_root
from dags.render_audits import render_audits

if get_parsing_context().dag_id in (None, AUDITS):
    # A file that cannot be used is an import error of `pipeline_problems.py`.
    deployments, _ = read_deployments(project_root(), pipelines_folder())
    if deployments:
        dag_audits = render_audits(deployments)
