"""A task that represents a continuous job: deferred while it lives, failed once it is dead."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.triggers.base import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TriggerEvent

from dags.operators.command import ANSWER_S, CommandError, run_quietly
from dags.operators.job import GAVE_UP, Job, jobs_arguments, jobs_of, named
from dags.operators.links import SparkDriverLink
from dags.operators.run_command import CommandTask
from dags.operators.stop_job import stop_if_marked_failed
from dags.operators.submit_stream import Submission, lineage_parent

POLL_VARIABLE = "SLACKWATER_MONITOR_SECONDS"
"""Seconds between two polls, instead of POLL_S."""

POLL_S = 20.0

PATIENCE_S = 600
"""How long polls may go unanswered before the job counts as dead."""

_DEFERRED = "deferred"


class MonitorTrigger(BaseTrigger):
    """Polls a run's state until its job has ended.

    Its only event ends the task without a worker, so this works in a paused DAG too. If the job is
    dead, the task fails, and is retried while retries are left; if the job was stopped or
    superseded, it is skipped. The log says which, and why.

    Args:
        file: the run's own copy of the pipeline file: the user's may be edited or removed.
    """

    def __init__(self, *, file: str, run: str, poll_s: float) -> None:
        super().__init__()
        self.file = file
        self.run_name = run
        self.poll_s = poll_s
        self._before: Job | None = None
        self._answered_s = time.time()

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores to recreate it in the triggerer."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {"file": self.file, "run": self.run_name, "poll_s": self.poll_s},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield the only event."""
        while (event := await self._look()) is None:
            await asyncio.sleep(self.poll_s)
        yield event

    async def _look(self) -> TriggerEvent | None:
        try:
            jobs = jobs_of(await run_quietly(jobs_arguments(self.file), time_s=ANSWER_S))
        except CommandError as error:
            return self._unanswered(error)
        self._answered_s = time.time()
        job, before = named(jobs, self.run_name), self._before
        self._before = job
        if job is None:
            self.log.error("there is no run %s any more: its folder is gone", self.run_name)
            return TaskFailedEvent()
        if before is None or before.state != job.state:
            self.log.info("%s", job)
        if job.on_purpose:
            return TaskSkippedEvent()
        # A driver that moves to another worker may briefly look dead.
        if job.dead and before is not None and before.dead:
            self.log.error("%s", job)
            return TaskFailedEvent()
        return None

    def _unanswered(self, error: CommandError) -> TriggerEvent | None:
        if time.time() < self._answered_s + PATIENCE_S:
            self.log.warning("no answer: %s", error)
            return None
        self.log.error("no answer for %d s, so the job counts as dead: %s", PATIENCE_S, error)
        return TaskFailedEvent()

    async def on_kill(self) -> None:
        """Handle a user's action on the task: stop the job if it was marked failed."""
        await stop_if_marked_failed(self, self.file, self.run_name)


class MonitorJob(CommandTask):
    """Waits in the triggerer while a run's job lives; deploys it again if it is gone.

    A job that gave up for its own reason (`failed`) is deployed again only by a clear, not by
    a retry, which would fail for the same reason. If another DAG run already watches the same run,
    the task is skipped.
    """

    operator_extra_links = (SparkDriverLink(),)
    ui_color = "#e3f2e6"

    def __init__(self, *, submit_task_id: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.submit_task_id = submit_task_id

    def execute(self, context: Context) -> None:
        """Check the job, deploy it again if necessary, and hand over to the triggerer.

        Raises:
            AirflowFailException: the job gave up.
            AirflowSkipException: there is no job to watch, or another DAG run watches it.
        """
        submission: Submission = context["ti"].xcom_pull(task_ids=self.submit_task_id)
        file, run = submission["file"], submission["run"]
        jobs = self.jobs(file)
        job = named(jobs, run)
        if job is None:
            msg = f"there is no run {run} any more: its folder is gone; trigger the DAG again"
            raise AirflowFailException(msg)
        _check_is_ours(job, jobs, by_hand=self._is_cleared(context))
        if other := watcher(context, self.submit_task_id, run):
            msg = f"DAG run {other} watches run {run} already"
            raise AirflowSkipException(msg)
        if job.ended:
            self.log.info("%s: it goes on from its checkpoint", job)
            self._more = lineage_parent(context)
            self.call("start", file, "--run", run)
        SparkDriverLink().show(self, context, job.ui or submission.get("ui"))
        self.defer(
            trigger=MonitorTrigger(file=file, run=run, poll_s=poll_seconds(POLL_S)),
            method_name=self.ended.__name__,
        )

    def ended(self, context: Context, event: str) -> None:
        """Take the event where no triggerer can end the task: in `dag.test()`.

        Raises:
            AirflowSkipException, AirflowException: as the event says.
        """
        if event == TaskSkippedEvent().payload:
            raise AirflowSkipException
        msg = "the job is dead: the log above says why"
        raise AirflowException(msg)

    def _is_cleared(self, context: Context) -> bool:
        """Whether a user has cleared the task, so that this is its first attempt."""
        ti = context["ti"]
        return ti.try_number > 1 and ti.max_tries - ti.try_number + 1 >= self.retries


def poll_seconds(usual: float) -> float:
    """Return the seconds between two polls: from the environment, else the default."""
    return float(os.environ.get(POLL_VARIABLE, usual))


def watcher(context: Context, submit_task_id: str, run: str) -> str | None:
    """Find the DAG run in which this task already watches the same run, if any."""
    ti = context["ti"]
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ti.task_id])
    for dag_run, tasks in states.items():
        if dag_run != ti.run_id and tasks.get(ti.task_id) == _DEFERRED:
            other = ti.xcom_pull(task_ids=submit_task_id, run_id=dag_run)
            if other and other["run"] == run:
                return str(dag_run)
    return None


def _check_is_ours(job: Job, jobs: list[Job], *, by_hand: bool) -> None:
    """Check whether a job may be watched, and deployed again if it has ended.

    Args:
        job: of the DAG run.
        jobs: all of the pipeline.
        by_hand: a user has cleared the task, and wants the job to continue.

    Raises:
        AirflowFailException: it gave up.
        AirflowSkipException: it has ended on purpose, or another run has its place.
    """
    other = next((one for one in jobs if one.live and one.run != job.run and not one.ended), None)
    if job.ended and other is not None:
        msg = f"run {other.run} has taken the place of run {job.run}"
        raise AirflowSkipException(msg)
    if by_hand:
        return
    if job.on_purpose:
        raise AirflowSkipException(str(job))
    if job.state == GAVE_UP:
        raise AirflowFailException(str(job))
