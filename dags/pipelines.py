"""The loader for Airflow: a DAG for each usable file in `pipelines/`.

Reads only those files, so that every parse gives the same DAGs. Unusable files appear as an import
error of `pipeline_problems.py`.
"""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.operators.command import pipelines_folder, project_root
from dags.render import read_dags

wanted = get_parsing_context().dag_id  # set when a task runs, which does not need the other DAGs
for dag in read_dags(project_root(), pipelines_folder(), wanted)[0]:
    globals()[f"dag_{dag.dag_id}"] = dag
