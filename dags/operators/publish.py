"""Tells Airflow that a pipeline's table has new content."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context


class PublishTable(BaseOperator):
    """Updates the table's Asset; DAGs that are scheduled on it start.

    The event's `extra` has the run (`run`, `table`), the number of its `rows` that the checks found
    in the tables, and how far the log is applied (`progress`, by lane).

    Args:
        asset: the table's Asset.
        submit_task_id, wait_task_id, quality_task_id: the tasks whose results it includes.
    """

    ui_color = "#e8f5e9"

    def __init__(
        self,
        *,
        asset: Asset,
        submit_task_id: str,
        wait_task_id: str,
        quality_task_id: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.asset = asset
        self.submit_task_id = submit_task_id
        self.wait_task_id = wait_task_id
        self.quality_task_id = quality_task_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Fill the asset event, and return its content."""
        pull = context["ti"].xcom_pull
        submission = pull(task_ids=self.submit_task_id)
        progress = pull(task_ids=self.wait_task_id)
        quality = pull(task_ids=self.quality_task_id) or {}
        extra = {
            "run": submission["run"],
            "table": submission.get("table"),
            "rows": quality.get("rows"),
            "progress": progress["lanes"],
        }
        context["outlet_events"][self.asset].extra = extra
        return extra
