"""Steps that are one call of the `slackwater` command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from dags.operators.command import Command, CommandError, CommandOutput
from dags.operators.job import Job, jobs_arguments, jobs_of, meant
from dags.operators.links import DataDocsLink, data_docs_page
from dags.operators.request import check_file, check_parameters, check_run, clear_number


class CommandTask(BaseOperator):
    """A task that calls `slackwater`, and stops the call when it is itself stopped."""

    _command: Command | None = None
    _more: Mapping[str, str] = {}
    """Variables of the command's environment that are this task's own."""

    def call(self, *arguments: str) -> CommandOutput:
        """Run the command with its output in the task's log.

        Raises:
            AirflowException: with the command's own last sentence.
        """
        try:
            return self.called(*arguments)
        except CommandError as error:
            raise AirflowException(str(error)) from None

    def called(self, *arguments: str) -> CommandOutput:
        """Run the command, for callers that need the exit code.

        Raises:
            CommandError: as `Command.run`.
        """
        return self._run(arguments, self.log.info)

    def asked(self, *arguments: str) -> CommandOutput:
        """Run the command without logging: a query, whose answer is read by a program.

        Raises:
            CommandError: as `Command.run`.
        """
        return self._run(arguments, self.log.debug)

    def jobs(self, file: str) -> list[Job]:
        """Ask for the runs of a pipeline.

        Raises:
            AirflowException: with the command's own last sentence.
        """
        try:
            return jobs_of(self.asked(*jobs_arguments(file)))
        except CommandError as error:
            raise AirflowException(str(error)) from None

    def live_with_commits(self, file: str) -> Job:
        """Return the live run, for a task that comes by the clock and works on what is written.

        Raises:
            AirflowSkipException: nothing is written yet.
            AirflowException: with the command's own last sentence.
        """
        live = meant(self.jobs(file))
        if live is None:
            msg = f"{file} has never run"
            raise AirflowSkipException(msg)
        if not live.batches:
            msg = f"run {live.run} of {file} has committed nothing yet"
            raise AirflowSkipException(msg)
        return live

    def _run(self, arguments: Sequence[str], log: Callable[[str], None]) -> CommandOutput:
        self._command = Command(arguments, log, self._more)
        return self._command.run()

    def on_kill(self) -> None:
        """Stop the command; what it has submitted continues, and a retry finds it again."""
        if self._command is not None:
            self._command.stop()


class RunCommand(CommandTask):
    """Calls one subcommand; its result is the JSON object that the command printed, if any.

    A result with `data_docs` gives the task a link to these pages, even if the check failed.
    Nothing of it is a template: its arguments have names of files, which may look like one.

    Args:
        arguments: the command line after `slackwater`.
        file: the pipeline file, if the command works on it: see `request`.
        known: the parameters that its DAG has; None: it does not look whether there are others.
    """

    operator_extra_links = (DataDocsLink(),)
    ui_color = "#e8f0fe"

    def __init__(
        self,
        *,
        arguments: Sequence[str],
        file: str | None = None,
        known: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.arguments = arguments
        self.file = file
        self.known = known

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Run the command once."""
        if self.known is not None:
            check_parameters(context, self.known)
        if self.file is not None and not clear_number(context):
            check_file(context, self.file)
        return self.carried_out(context)

    def carried_out(self, context: Context, *more: str) -> dict[str, Any] | None:
        """Run the command, with more arguments; return its result.

        Raises:
            AirflowException: with the command's own last sentence.
        """
        try:
            output = self.called(*self.arguments, *more)
        except CommandError as error:
            self._link(context, error.output.result())
            raise AirflowException(str(error)) from None
        result = output.result()
        self._link(context, result)
        return result

    def _link(self, context: Context, result: dict[str, Any] | None) -> None:
        if (result or {}).get("data_docs"):
            DataDocsLink().show(self, context, data_docs_page(self.dag_id))


class TendTables(CommandTask):
    """Calls `slackwater tables`, unless nothing is written yet.

    Args:
        action: `optimize` or `vacuum`.
    """

    ui_color = "#e8f0fe"

    def __init__(self, *, file: str, action: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file, self.action = file, action

    def execute(self, context: Context) -> None:
        """Run the command once."""
        self.live_with_commits(self.file)
        self.call("tables", self.file, self.action)


class RunOnSubmitted(RunCommand):
    """Calls one subcommand for the submitted run, with the run's own copy of the file.

    Both are taken from the task that has submitted it, so that a step cleared later keeps them.
    """

    def __init__(self, *, verb: str, submit_task_id: str, **kwargs: Any) -> None:
        super().__init__(arguments=(verb,), **kwargs)
        self.submit_task_id = submit_task_id

    def carried_out(self, context: Context, *more: str) -> dict[str, Any] | None:
        """Run the command; return its result."""
        submission = context["ti"].xcom_pull(task_ids=self.submit_task_id)
        arguments = (submission["file"], "--run", submission["run"], "--json")
        return super().carried_out(context, *arguments, *more)


class CheckRun(CommandTask):
    """Calls `slackwater verify` or `replay` for the run in the parameter `run`, or the live one.

    Args:
        verb: of the command, with the pipeline file after it.
        options: of the command, by the parameter that has its value; without one it is left out.
    """

    ui_color = "#e8f0fe"

    def __init__(self, *, verb: str, file: str, options: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.verb, self.file, self.options = verb, file, dict(options)

    def execute(self, context: Context) -> None:
        """Run the command once.

        Raises:
            AirflowFailException: another run or file is there than was shown.
        """
        check_parameters(context, tuple(self.options))
        if (shown := check_file(context, self.file)) is not None:
            check_run(shown, self.jobs(self.file))
        params = context["params"]
        given = [(option, params.get(name)) for name, option in self.options.items()]
        arguments = [f"{option}={value}" for option, value in given if value is not None]
        self.call(self.verb, self.file, *arguments)


class RunPlan(RunCommand):
    """Calls `slackwater chaos run` for one plan, unless the DAG run's parameter chooses another.

    The seed is the parameter `seed`, else the date: a new one every night, the same for every task
    and retry of a DAG run.

    Args:
        report: the folder of its report.
    """

    def __init__(self, *, plan: str, report: str, **kwargs: Any) -> None:
        super().__init__(arguments=("chaos", "run", plan), **kwargs)
        self.report = report

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Run the plan; return its result.

        Raises:
            AirflowSkipException: another one was chosen.
        """
        params = context["params"]
        if (chosen := params.get("plan")) not in (None, self.task_id):
            msg = f"this DAG run was triggered with plan = {chosen}"
            raise AirflowSkipException(msg)
        seed = str(params.get("seed") or f"{context['dag_run'].run_after:%Y%m%d}")
        return self.carried_out(context, "--seed", seed, "--report", self.report)


class HandOver(CommandTask):
    """Calls `slackwater handover`.

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
        check_parameters(context, ("run",))
        run = context["params"].get("run")
        if not run:
            msg = "name the run that takes over in the parameter `run`"
            raise AirflowFailException(msg)
        shown = check_file(context, self.file)
        if shown is not None:
            check_run(shown, self.jobs(self.file), run)
        self.call("handover", self.file, "--to", run)
