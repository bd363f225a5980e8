"""Reports to Airflow that tables, or the reports of a night, have new content."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from dags.operators.run_command import CommandTask
from dags.operators.submit_stream import Submission


def news(submission: Submission, quality: dict[str, Any], lanes: dict[str, Any]) -> dict[str, Any]:
    """Return the `extra` of an event: what a downstream DAG may want to know.

    Args:
        lanes: committed offsets by lane, from before the check.
    """
    return {
        "run": submission["run"],
        "table": submission.get("table"),
        "rows": quality.get("rows"),
        "progress": lanes,
        "final_until": quality.get("final_until") or {},
    }


class PublishTable(BaseOperator):
    """Updates the table's Asset; DAGs that are scheduled on it start.

    The event's `extra` has the run (`run`, `table`), the number of its `rows` that the checks found
    in the tables, how far the log is applied (`progress`, by lane), and up to which event time the
    windows that were checked are final (`final_until`, by query): see `await_final`.

    Args:
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
        extra = news(submission, quality, progress["lanes"])
        context["outlet_events"][self.asset].extra = extra
        return extra


class PublishNews(BaseOperator):
    """Updates the table's Asset after a later check, with what `check_again` has found.

    The event's `extra` is the DAG run's `conf`: that of `PublishTable`.
    """

    ui_color = "#e8f5e9"

    def __init__(self, *, asset: Asset, **kwargs: Any) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.asset = asset

    def execute(self, context: Context) -> dict[str, Any]:
        """Fill the asset event, and return its content.

        Raises:
            AirflowFailException: triggered by somebody who has checked nothing.
        """
        extra = dict(context["dag_run"].conf or {})
        if "final_until" not in extra:
            msg = "only check_again triggers this DAG, when expectations hold: trigger the other"
            raise AirflowFailException(msg)
        context["outlet_events"][self.asset].extra = extra
        return extra


class PublishReports(CommandTask):
    """Builds one page of all reports in a folder, and updates the Asset.

    The event's `extra` has the verdict of each plan.

    Args:
        folder: holds a folder for each plan.
    """

    ui_color = "#e8f5e9"

    def __init__(self, *, asset: Asset, folder: str, **kwargs: Any) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.asset = asset
        self.folder = folder

    def execute(self, context: Context) -> dict[str, Any]:
        """Call `slackwater chaos contents`, whose result is the event's content."""
        extra = self.call("chaos", "contents", self.folder).result() or {}
        context["outlet_events"][self.asset].extra = extra
        return extra


class Verdict(BaseOperator):
    """Does nothing: it is green if all tasks before it are, and decides the DAG run's state."""

    def execute(self, context: Context) -> None:
        """Do nothing."""
