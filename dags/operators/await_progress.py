"""Waits, without holding a worker slot, until a job's progress has passed the topic's end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from dags.operators.command import ANSWER_S, USAGE_ERROR, CommandError, run_quietly
from dags.operators.links import SparkDriverLink
from dags.operators.progress import Ends, Progress, fixed_ends, progress_arguments
from dags.operators.run_command import CommandTask
from dags.operators.stop_job import stop_if_marked_failed
from dags.operators.submit_stream import Submission

PATIENCE_S = 180
"""How long progress may be unavailable: the broker or the master may be restarting."""


class ProgressTrigger(BaseTrigger):
    """Polls a job's progress until the target is passed, the job has ended, or time is up.

    Its only event holds `progress`, and `problem` – one sentence – unless the target was passed.

    Args:
        until: the target: an offset for each partition.
        deadline_s: when to give up, in seconds since the Unix epoch, so that it survives a restart
            of the triggerer.
        owns_job: no other task represents the job: marking this one failed stops it.
    """

    def __init__(
        self,
        *,
        file: str,
        run: str,
        until: Ends,
        deadline_s: float,
        poll_s: float,
        owns_job: bool = False,
    ) -> None:
        super().__init__()
        self.file = file
        self.run_name = run
        self.until = until
        self.deadline_s = deadline_s
        self.poll_s = poll_s
        self.owns_job = owns_job

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores to recreate it in the triggerer."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "file": self.file,
                "run": self.run_name,
                "until": self.until,
                "deadline_s": self.deadline_s,
                "poll_s": self.poll_s,
                "owns_job": self.owns_job,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield the only event."""
        problem, progress = None, None
        ended_before = False
        answered_s = time.time()
        while progress is None or not progress.done:
            try:
                progress = await self._ask(progress)
                answered_s = time.time()
            except CommandError as error:
                self.log.warning("no answer: %s", error)
                if error.exit_code == USAGE_ERROR or time.time() > answered_s + PATIENCE_S:
                    problem = str(error)
            if problem is None and progress is not None and not progress.done:
                # The end may be newer than the offsets reported with it: ask again.
                if progress.failed and ended_before:
                    problem = progress.problem(self.until)
                elif time.time() > self.deadline_s:
                    problem = f"time is up: {progress.problem(self.until)}"
                ended_before = progress.failed
            if problem is not None:
                break
            if progress is None or not progress.done:
                await asyncio.sleep(self.poll_s)
        found = progress.as_json() if progress else None
        yield TriggerEvent({"problem": problem, "progress": found})

    async def on_kill(self) -> None:
        """Handle a user's action on the task: stop its own job, if it was marked failed."""
        if self.owns_job:
            await stop_if_marked_failed(self, self.file, self.run_name)

    async def _ask(self, before: Progress | None) -> Progress:
        arguments = progress_arguments(self.file, self.run_name, self.until)
        progress = Progress.of(await run_quietly(arguments, time_s=ANSWER_S))
        if progress != before:
            self.log.info("%s, %s offsets to go", progress.state, progress.behind)
        return progress


class AwaitProgress(CommandTask):
    """Succeeds when the job has committed everything that was on the topic when the wait began.

    Only the job's progress matters, not its process: a driver that is killed and relaunched
    continues, one that ends early fails the task at once.

    Args:
        file: the pipeline file, for the topic's ends; everything else uses the run's own copy,
            since the file may be edited or removed meanwhile.
        owns_job: no other task represents the job: marking this one failed stops it.
    """

    operator_extra_links = (SparkDriverLink(),)
    ui_color = "#e6f1f2"

    def __init__(
        self,
        *,
        file: str,
        submit_task_id: str,
        owns_job: bool = False,
        poll_s: float = 5,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.owns_job = owns_job
        self.submit_task_id = submit_task_id
        self.poll_s = poll_s

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Fix the target and hand the wait over to the triggerer."""
        submission = self._submission(context)
        run, file = submission["run"], submission["file"]
        until = submission.get("until") or fixed_ends(self, context, self.file)
        try:
            progress = Progress.of(self.call(*progress_arguments(file, run, until)))
        except CommandError as error:
            raise AirflowException(str(error)) from None
        SparkDriverLink().show(self, context, progress.ui or submission.get("ui"))
        if progress.done:
            return progress.as_json()
        minutes = context["params"]["wait_minutes"]
        self.defer(
            trigger=ProgressTrigger(
                file=file,
                run=run,
                until=until,
                deadline_s=time.time() + 60 * minutes,
                poll_s=self.poll_s,
                owns_job=self.owns_job,
            ),
            method_name=self.progressed.__name__,
        )
        return None  # never reached: defer raises

    def progressed(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Take the trigger's event.

        Raises:
            AirflowFailException: the target was not passed; a retry would not help.
        """
        found = event["progress"]
        ui = (found or {}).get("ui") or self._submission(context).get("ui")
        SparkDriverLink().show(self, context, ui)
        if event["problem"]:
            raise AirflowFailException(event["problem"])
        return found

    def _submission(self, context: Context) -> Submission:
        return context["ti"].xcom_pull(task_ids=self.submit_task_id)
