"""Steps of DAGs that offer several things to do, of which a DAG run's parameters choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from dags.operators.run_command import RunCommand
from dags.operators.shown import check_file, check_run


class RunChosen(RunCommand):
    """Calls one subcommand, unless the DAG run's parameter chooses another.

    Args:
        parameter: its name; left empty, it chooses all.
        choice: the value that chooses this step.
        options: of the command, by the parameter that has its value; without one it is left out.
    """

    def __init__(
        self,
        *,
        parameter: str,
        choice: str,
        options: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.parameter, self.choice, self.options = parameter, choice, dict(options or {})

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Run the command, if it is chosen.

        Raises:
            AirflowSkipException: another one is.
            AirflowFailException: another run or file is there than was shown.
        """
        params = context["params"]
        if (chosen := params.get(self.parameter)) not in (None, self.choice):
            msg = f"this DAG run was triggered with {self.parameter} = {chosen}"
            raise AirflowSkipException(msg)
        if self.file is not None and (shown := check_file(context, self.file)) is not None:
            check_run(shown, self.jobs(self.file))
        given = [(option, params.get(name)) for name, option in self.options.items()]
        arguments = [f"{option}={value}" for option, value in given if value is not None]
        return self.carried_out(context, *arguments)
