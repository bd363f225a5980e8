"""Shows unusable pipeline files as an Airflow import error, without affecting other DAGs.

An error raised while `pipelines.py` is read would remove all of its DAGs; raised here, it names
file, line and field on the page of import errors until the file is fixed.
"""

from __future__ import annotations

from dags.operators.command import pipelines_folder, project_root
from dags.render import read_dags


class UnusablePipelineError(ValueError):
    """Pipeline files that have no DAG because they break a rule."""


broken = read_dags(project_root(), pipelines_folder())[1]
if broken:
    raise UnusablePipelineError("\n".join(file.message for file in broken))
