"""Checks a table repeatedly while its job lives: late and dead records can come at any time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse, TriggerDagRun
from airflow.triggers.base import TaskSkippedEvent, TriggerEvent

from dags.operators.command import CommandError
from dags.operators.links import DataDocsLink, data_docs_page
from dags.operators.monitor import MonitorTrigger, poll_seconds, watcher
from dags.operators.progress import Progress, progress_arguments
from dags.operators.publish import news
from dags.operators.run_command import CommandTask
from dags.operators.submit_stream import Submission

POLL_S = 60.0
"""Seconds between two checks of the job; a restarting one is back before the second."""

_DUE = "due"
_ANNOUNCED = "told"
"""Key of the XCom with the content of the last event."""


class DueTrigger(MonitorTrigger):
    """Waits until a check is due, while the job lives.

    Its only event says that it is due; if the job has ended, for whatever reason, it skips the
    task: the monitor judges that.

    Args:
        file: the run's own copy of the pipeline file.
        poll_s: seconds between two checks of the job.
        due_s: when, in seconds since the Unix epoch.
    """

    def __init__(self, *, file: str, run: str, poll_s: float, due_s: float) -> None:
        super().__init__(file=file, run=run, poll_s=poll_s)
        self.due_s = due_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores to recreate it in the triggerer."""
        path, kept = super().serialize()
        return path, kept | {"due_s": self.due_s}

    async def on_kill(self) -> None:
        """Do nothing: whatever was done to the task, the job continues."""

    async def _look(self) -> TriggerEvent | None:
        if await super()._look() is not None:
            return TaskSkippedEvent()
        return TriggerEvent(_DUE) if time.time() >= self.due_s else None


class CheckAgain(CommandTask):
    """Calls `slackwater quality` periodically, and turns red once an expectation does not hold.

    The job and its monitor continue. When cleared, it checks at once, then periodically. After a
    check that passed and found something new, it triggers the DAG that updates the Asset.

    Args:
        publish_task_id: the task that sent the first news.
        news_dag_id: the DAG that sends further news.
    """

    operator_extra_links = (DataDocsLink(),)
    ui_color = "#e8f0fe"

    def __init__(
        self, *, submit_task_id: str, publish_task_id: str, news_dag_id: str, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.submit_task_id = submit_task_id
        self.publish_task_id = publish_task_id
        self.news_dag_id = news_dag_id

    def execute(self, context: Context) -> None:
        """Wait for the first check; the table has just been checked.

        Raises:
            AirflowSkipException: there is nothing to check, or another DAG run does it.
        """
        if context["params"].get("check_minutes") is None:
            msg = "this DAG run was triggered without check_minutes"
            raise AirflowSkipException(msg)
        submission = self._submission(context)
        if other := watcher(context, self.submit_task_id, submission["run"]):
            msg = f"DAG run {other} checks run {submission['run']} already"
            raise AirflowSkipException(msg)
        if context["ti"].try_number > 1:
            self._check(context, submission)
        self._wait(context, submission)

    def due(self, context: Context, event: str) -> None:
        """Check, then wait for the next time.

        Raises:
            AirflowFailException: an expectation does not hold.
            AirflowSkipException: the job has ended, in `dag.test()`, where no triggerer skips.
        """
        if event != _DUE:
            raise AirflowSkipException
        submission = self._submission(context)
        self._check(context, submission)
        self._wait(context, submission)

    def _check(self, context: Context, submission: Submission) -> None:
        file, run = submission["file"], submission["run"]
        try:
            # Before the check, so that the rows it judges are as far.
            progress = Progress.of(self.asked(*progress_arguments(file, run, {})))
            found = self.called("quality", file, "--run", run, "--json").result() or {}
        except CommandError as error:
            if error.output.result() is None:  # no result, for example during a broker outage
                self.log.warning("not checked this time: %s", error)
                return
            DataDocsLink().show(self, context, data_docs_page(self.dag_id))
            msg = f"{error}; the job of run {run} goes on"
            raise AirflowFailException(msg) from None
        self._announce(context, submission, news(submission, found, progress.lanes))

    def _announce(self, context: Context, submission: Submission, found: dict[str, Any]) -> None:
        ti = context["ti"]
        last = ti.xcom_pull(key=_ANNOUNCED) or ti.xcom_pull(task_ids=self.publish_task_id)
        if found == last:
            self.log.info("nothing new since the Asset's last event")
            return
        run_id = f"{submission['run']}-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%f}"
        answer = task_runner.SUPERVISOR_COMMS.send(
            TriggerDagRun(dag_id=self.news_dag_id, run_id=run_id, conf=found)
        )
        if isinstance(answer, ErrorResponse):
            self.log.warning("the Asset was not updated this time: %s", answer)
            return
        ti.xcom_push(key=_ANNOUNCED, value=found)
        self.log.info("triggered %s: windows are final until %s", run_id, found["final_until"])

    def _wait(self, context: Context, submission: Submission) -> None:
        due_s = time.time() + 60 * context["params"]["check_minutes"]
        self.defer(
            trigger=DueTrigger(
                file=submission["file"],
                run=submission["run"],
                poll_s=poll_seconds(POLL_S),
                due_s=due_s,
            ),
            method_name=self.due.__name__,
        )

    def _submission(self, context: Context) -> Submission:
        return context["ti"].xcom_pull(task_ids=self.submit_task_id)
