"""The offsets that a deployment has to pass, fixed once and kept across retries."""

from __future__ import annotations

import json
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException

from dags.operators.action import clear_number
from dags.operators.run_command import CommandTask

Ends = dict[str, int]
"""The end of each partition of a topic: the offset after its last record, by partition number."""


def fixed_ends(task: CommandTask, context: Context, file: str) -> Ends:
    """Return the topic's ends at the first call, retries included.

    Raises:
        AirflowException: the command failed or did not print them.
    """
    store = context.get("task_state_store")
    key = f"ends.{clear_number(context)}"
    known: Any = store.get(key) if store is not None else None
    if known is None:
        known = task.call("progress", file, "--ends").result()
        if not known or not all(isinstance(end, int) for end in known.values()):
            msg = (
                f"slackwater progress --ends printed no ends of partitions but {json.dumps(known)}"
            )
            raise AirflowException(msg)
        if store is not None:
            store.set(key, known)
    return known
