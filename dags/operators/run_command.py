"""A step that is one call of the `slackwater` command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException

from dags.operators.command import Command, CommandError, Output
from dags.operators.links import DataDocsLink


class CommandTask(BaseOperator):
    """A task that calls `slackwater`, and ends the call when it is itself ended."""

    _command: Command | None = None

    def call(self, *arguments: str) -> Output:
        """Runs the command with its output in the task's log.

        Raises:
            AirflowException: with the command's own last sentence.
        """
        self._command = Command(arguments, self.log.info)
        try:
            return self._command.run()
        except CommandError as error:
            raise AirflowException(str(error)) from None

    def on_kill(self) -> None:
        """Ends the command; what it has submitted goes on, and a retry finds it again."""
        if self._command is not None:
            self._command.stop()


class RunCommand(CommandTask):
    """Calls one subcommand; its result is the JSON object that the command printed, if any.

    A result with `data_docs` gives the task a link to that address.

    Args:
        arguments: the command line after `slackwater`; templated.
    """

    template_fields = ("arguments",)
    operator_extra_links = (DataDocsLink(),)
    ui_color = "#e8f0fe"

    def __init__(self, *, arguments: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.arguments = arguments

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Runs the command once."""
        result = self.call(*self.arguments).result()
        DataDocsLink().show(self, context, (result or {}).get("data_docs"))
        return result
