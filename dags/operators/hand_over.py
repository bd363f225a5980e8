"""Promotes a shadow of the live run to be the live run."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from dags.operators.action import HANDOVER, skip_unless
from dags.operators.run_command import CommandTask
from dags.operators.shown import check_file, check_run


class HandOver(CommandTask):
    """Calls `slackwater handover`, if that is the DAG run's action.

    The two runs are compared where they must agree; if they differ, nothing is changed.
    """

    ui_color = "#ede7f6"

    def __init__(self, *, file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file = file

    def execute(self, context: Context) -> None:
        """Hand over to the run in the parameter `run`.

        Raises:
            AirflowFailException: it is empty, or another run or file is there than was shown.
        """
        skip_unless(HANDOVER, context)
        run = context["params"].get("run")
        if not run:
            msg = "action = handover: name the run that takes over in the parameter `run`"
            raise AirflowFailException(msg)
        shown = check_file(context, self.file)
        if shown is not None:
            check_run(shown, self.jobs(self.file), run)
        self.call("handover", self.file, "--to", run)
