"""The task that starts a job, as the parent of the job's OpenLineage events."""

from __future__ import annotations

import os

from airflow.sdk import Context

PARENT = "OPENLINEAGE_PARENT_ID"
"""Names the parent, as `namespace/name/run id`."""

_CONFIGURED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")


def parent(context: Context) -> dict[str, str]:
    """Return the variable that names a task as the parent of the job that it starts.

    None, if nobody receives events, or the environment names a parent already. The run id is the
    task instance's own, which is another one for every attempt.
    """
    if os.environ.get(PARENT) or not any(os.environ.get(name) for name in _CONFIGURED):
        return {}
    ti = context["ti"]
    namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or "slackwater"
    return {PARENT: f"{namespace}/{ti.dag_id}.{ti.task_id}/{ti.id}"}
