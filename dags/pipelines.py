"""The loader that Airflow finds: a DAG for each usable file under `pipelines/`.

Reads nothing but those files, so that every parse gives the same DAGs. Files that cannot be used
appear as the import error of `pipeline_problems.py`.
"""

from __future__ import annotations

from airflow.sdk import get_parsing_context

from dags.operators.command import pipelines_folder, project_root
from dags.render import read_dags

wanted = get_parsing_context().dag_id  # set where a task runs: the other DAGs are not needed there
for dag in read_dags(project_root(), pipelines_folder(), wanted)[0]:
    globals()[f"dag_{dag.dag_id}"] = dag
