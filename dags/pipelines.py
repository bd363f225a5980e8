"""The loader that Airflow finds: a DAG for each usable file under `pipelines/`.

Reads nothing but those files, so that every parse gives the same DAGs. Files that cannot be used
appear as the import error of `pipeline_problems.py`.
"""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.entities import read_deployments
from dags.operators.command import pipelines_folder, project_root
from dags.render import render

wanted = get_parsing_context().dag_id  # set where a task runs: the other DAGs are not needed there
for deployment in read_deployments(project_root(), pipelines_folder())[0]:
    if not wanted or wanted == deployment.name:
        globals()[f"dag_{deployment.name}"] = render(deployment)
