"""Publishes the reports of a night, and is as green as they are."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context

from dags.operators.run_command import CommandTask


class PublishReports(CommandTask):
    """Has one page made of all reports below a folder, and updates the Asset.

    The event's `extra` says what each plan came to.

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
    """Does nothing: it is green where all before it are, and the DAG run is what it is."""

    def execute(self, context: Context) -> None:
        """Nothing is left to do."""
