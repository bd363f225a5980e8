"""Publishes the nightly reports; fails if any plan failed."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context

from dags.operators.run_command import CommandTask


class PublishReports(CommandTask):
    """Builds one page of all reports in a folder, and updates the Asset.

    The event's `extra` has the verdict of each plan.

    Args:
        asset: of the reports.
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
