"""Shows unusable pipeline files and plans as an Airflow import error, without affecting other DAGs.

An error raised while `pipelines.py` is read would remove all of its DAGs; raised here, it names
file, line and field on the page of import errors until the file is fixed.
"""

from __future__ import annotations

from dags.entities import broken_plans
from dags.operators.command import pipelines_folder, project_root
from dags.render import read_dags


class UnusablePipelineError(ValueError):
    """Files that have no DAG, or no task, because they break a rule."""


broken = [*read_dags(project_root(), pipelines_folder())[1], *broken_plans(project_root())]
if broken:
    raise UnusablePipelineError("\n".join(file.message for file in broken))
