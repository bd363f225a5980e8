"""Action of a DAG run: deploy, stop the job, hand over to another run, or check one."""

from __future__ import annotations

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

DEPLOY, STOP, HANDOVER, VERIFY, REPLAY = "deploy", "stop", "handover", "verify", "replay"
ACTIONS = (DEPLOY, STOP, HANDOVER, VERIFY, REPLAY)
"""Values of the parameter `action`."""


def skip_unless(action: str, context: Context) -> None:
    """Skip a task that the DAG run's action does not need; the tasks after it are skipped too.

    Raises:
        AirflowSkipException: the action is a different one. A DAG without the parameter deploys.
    """
    wanted = context["params"].get("action", DEPLOY)
    if wanted != action:
        msg = f"this DAG run was triggered with action = {wanted}"
        raise AirflowSkipException(msg)


def clear_number(context: Context) -> int:
    """Return how often the DAG run has been cleared: distinguishes a new attempt from a retry."""
    return context["dag_run"].clear_number or 0
