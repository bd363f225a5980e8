"""The audit of a pipeline: what has come since the last one, compared with the definition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Asset, Context
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from dags.operators.command import CommandError
from dags.operators.run_command import CommandTask

UNKNOWN = 3
"""The exit code of a command that has found nothing to judge."""


class AuditRun(CommandTask):
    """Calls `slackwater verify` for the live run, up to what it has committed.

    The verdict is kept in the run's folder, where the pipeline's page finds it. One that passes
    updates the Asset of the audits, with `run`, `verdict` and `at` as `extra`.
    """

    ui_color = "#e8f0fe"

    def __init__(
        self, *, pipeline: str, file: str, audited: Asset, asset: Asset, **kwargs: Any
    ) -> None:
        super().__init__(inlets=[audited], outlets=[asset], **kwargs)
        self.pipeline, self.file, self.asset = pipeline, file, asset

    def execute(self, context: Context) -> dict[str, Any]:
        """Verify the live run.

        Raises:
            AirflowSkipException: another pipeline was chosen, or there is nothing to verify.
            AirflowException: the verdict is bad, or there can be none.
        """
        if (chosen := context["params"].get("pipeline")) not in (None, self.pipeline):
            msg = f"this DAG run was triggered with pipeline = {chosen}"
            raise AirflowSkipException(msg)
        try:
            live = self.live_with_commits(self.file)
            output = self.called("verify", self.file, "--run", live.run, *_OPTIONS)
        except CommandError as error:
            if error.exit_code == UNKNOWN:
                raise AirflowSkipException(str(error)) from None
            raise AirflowException(str(error)) from None
        verdict = output.stdout[-1] if output.stdout else ""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        extra = {"run": live.run, "verdict": verdict, "at": at}
        context["outlet_events"][self.asset].extra = extra
        return extra


_OPTIONS = ("--since", "unverified", "--until", "committed", "--jobs", "1")
"""One process, beside the running jobs."""
