"""The loader for Airflow: the DAG of the nightly chaos plans, if the checkout has any."""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.entities import NIGHTLY, read_plans
from dags.operators.command import project_root
from dags.render_nightly import render_nightly

plans = read_plans(project_root())
if plans and get_parsing_context().dag_id in (None, NIGHTLY):
    dag_nightly = render_nightly(plans)
