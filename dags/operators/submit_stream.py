"""Submits the streaming job, or finds the one that an earlier attempt has submitted."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow.sdk import Context, ResumableJobMixin
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from dags.entities import run_name
from dags.operators.choose_run import Choice, OnChange, Wish, YoungerRunError, choices
from dags.operators.command import USAGE_ERROR, CommandError, CommandOutput
from dags.operators.job import Job
from dags.operators.links import SparkDriverLink
from dags.operators.progress import fixed_ends
from dags.operators.request import ShownState, check_file, check_run, clear_number
from dags.operators.run_command import CommandTask
from infra import drivers
from infra.addresses import addresses
from infra.driver import ALIVE, Driver
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import default_layout
from infra.record import read

PARENT = "OPENLINEAGE_PARENT_ID"
"""Names the parent, as `namespace/name/run id`."""

_CONFIGURED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")


def lineage_parent(context: Context) -> dict[str, str]:
    """Return the variable that names a task as the parent of the job that it starts.

    None, if nobody receives events, or the environment names a parent already. The run id is the
    task instance's own, which is another one for every attempt.
    """
    if os.environ.get(PARENT) or not any(os.environ.get(name) for name in _CONFIGURED):
        return {}
    ti = context["ti"]
    namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or "slackwater"
    return {PARENT: f"{namespace}/{ti.dag_id}.{ti.task_id}/{ti.id}"}


REST_VARIABLE = "SLACKWATER_SPARK_REST"
"""Base URL of the REST server of a cluster other than the local stack's."""

FINISHED = "FINISHED"

STARTED = frozenset({"RUNNING", FINISHED})
"""Whether the driver has its process; it may be running or done."""


def look_at(submission_id: str) -> Driver:
    """Return the driver as the cluster sees it now.

    Raises:
        AirflowException: the cluster does not answer.
    """
    try:
        endpoints = _endpoints()
        return drivers.cluster(endpoints).status(endpoints, submission_id)
    except InfraError as error:
        raise AirflowException(str(error)) from None


def _endpoints() -> Endpoints:
    # Not infra.stack's: that needs a Kafka client, which Airflow's environment lacks.
    layout = default_layout()
    found = addresses(layout, read(layout), ())
    if rest := os.environ.get(REST_VARIABLE):
        return replace(found, spark_rest=rest.rstrip("/"), yarn_ui="")
    if not drivers.can_be_asked(found):
        text = "the local stack has neither Spark's master nor YARN; start it with `slackwater up`"
        raise InfraError(text)
    return found


Submission = dict[str, Any]
"""The output of `slackwater submit` – submission_id, run, checkpoint, table, file, ui – and, for
increments, `until`: the ends of the topic when they were submitted."""

DEPLOYED_FILE = "deployed_file"
"""Key of the XCom with the text of the run's own copy of the pipeline file."""

CHOOSE = (
    "In the trigger dialog: on_change = new_run stops the job, for a new run of this file; beside "
    "starts one as its shadow; begin_at says where, like --from"
)
"""The choices if a submission is refused."""


class SubmitStream(ResumableJobMixin, CommandTask):
    """Submits a pipeline's job to the cluster and waits until its driver is running.

    It never creates a duplicate: a retry finds the submission in the task's state store; if an
    attempt died before storing it, `slackwater submit` attaches to the job of the same name.
    Without a name it continues the live run, or the newest one, if the file allows that; else
    `on_change` decides.

    Args:
        first_run: the name of the pipeline's first run; None: from the DAG run.
        available_now: process what is there, then end, instead of running continuously.
        start_timeout_s: how long the cluster may take to start the driver.
        poll_s: seconds between two checks of the driver.
    """

    operator_extra_links = (SparkDriverLink(),)
    ui_color = "#fff4e0"

    def __init__(
        self,
        *,
        file: str,
        first_run: str | None = None,
        available_now: bool = False,
        start_timeout_s: float = 300,
        poll_s: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.first_run = first_run
        self.available_now = available_now
        self.start_timeout_s = start_timeout_s
        self.poll_s = poll_s

    def execute(self, context: Context) -> Submission:
        """Return the submission of a job whose driver is running or has succeeded."""
        # A key per clear: a cleared task submits again instead of finding its old, ended job.
        self.external_id_key = f"submission.{clear_number(context)}"
        return self.execute_resumable(context)

    def submit_job(self, context: Context) -> Submission:
        """Call `slackwater submit`, which attaches if a job with this name is running already."""
        # A clear is a separate order: what is there now continues, and no younger job is ended.
        shown = None if clear_number(context) else check_file(context, self.file)
        # An increment reads up to the topic's ends at its start: the target must be fixed before.
        until = fixed_ends(self, context, self.file) if self.available_now else None
        submission = self._submit(context, shown).result()
        if not submission or not {"submission_id", "run", "file"} <= submission.keys():
            msg = f"slackwater submit printed no submission_id, run and file but {submission}"
            raise AirflowException(msg)
        return submission | {"until": until} if until else submission

    def _submit(self, context: Context, shown: ShownState | None) -> CommandOutput:
        """Submit in the first way that is not refused; the log says what that stopped.

        Args:
            shown: what was shown to whoever triggered the DAG run.

        Raises:
            AirflowException: it failed.
            AirflowFailException: all ways are refused, and a retry would be too; or another run
                is the live one than was shown.
        """
        self._more = lineage_parent(context)
        before = self.jobs(self.file)
        self._tell("before", before)
        wish = self._wish(context)
        check_run(shown, before, wish.named, wish.first, wish.fresh)
        try:
            ways = choices(wish, before)
        except YoungerRunError as error:
            raise AirflowFailException(str(error)) from None
        refused = ""
        for way in ways:
            try:
                output = self.called(*self._arguments(way, context))
            except CommandError as error:
                if error.exit_code != USAGE_ERROR:
                    raise AirflowException(str(error)) from None
                refused = str(error)
            else:
                self._tell("after", [job for job in self.jobs(self.file) if job not in before])
                return output
        choose = f"\n{CHOOSE}" if wish.on_change is OnChange.refuse else ""
        raise AirflowFailException(f"{refused}{choose}")

    def _tell(self, when: str, jobs: list[Job]) -> None:
        for job in jobs:
            if when == "after" or not job.ended:
                self.log.info("%s: %s%s", when, job, " (live)" if job.live else "")

    def _wish(self, context: Context) -> Wish:
        params, dag_run, clears = context["params"], context["dag_run"], clear_number(context)
        fresh = run_name(dag_run.run_id, clears)
        return Wish(
            named=params.get("run"),
            first=self.first_run or fresh,
            fresh=fresh,
            begin_at=params.get("begin_at"),
            on_change=OnChange(params["on_change"]),
            cleared=clears > 0,
            since=dag_run.run_after,
        )

    def _arguments(self, way: Choice, context: Context) -> list[str]:
        arguments = ["submit", self.file, "--run", way.run, *way.options]
        if self.available_now:
            arguments.append("--available-now")
        if limit := context["params"].get("max_offsets"):
            arguments += ["--max-offsets", str(limit)]
        return arguments

    def get_job_status(self, external_id: Submission, context: Context) -> str:
        """The driver's state according to the master."""
        return look_at(external_id["submission_id"]).state

    def is_job_active(self, status: str) -> bool:
        """Whether the driver is running or will be."""
        return status in ALIVE

    def is_job_succeeded(self, status: str) -> bool:
        """Whether the driver succeeded; the next step checks whether the log was passed."""
        return status == FINISHED

    def poll_until_complete(self, external_id: Submission, context: Context) -> Submission:
        """Wait until the driver is running or has succeeded.

        Raises:
            AirflowException: it failed, or did not start in time.
        """
        driver = external_id["submission_id"]
        give_up = time.monotonic() + self.start_timeout_s
        while (seen := look_at(driver)).state not in STARTED:
            if not self.is_job_active(seen.state):
                msg = f"driver {driver} is {seen.state}; its log is {_log_of(seen)}"
                raise AirflowException(msg)
            if time.monotonic() > give_up:
                msg = (
                    f"driver {driver} is still {seen.state} after {self.start_timeout_s:.0f} s: no "
                    "worker has a core and the memory for it; stop another job or add a worker"
                )
                raise AirflowException(msg)
            time.sleep(self.poll_s)
        self.log.info("driver %s is %s", driver, seen.state)
        return self.get_job_result(external_id, context)

    def get_job_result(self, external_id: Submission, context: Context) -> Submission:
        """Return the submission, which the following steps read."""
        SparkDriverLink().show(self, context, external_id.get("ui"))
        # Kept where the UI shows it: the user's file may be edited later.
        file = Path(external_id["file"])
        context["ti"].xcom_push(key=DEPLOYED_FILE, value=file.read_text("utf-8"))
        return external_id


def _log_of(driver: Driver) -> str:
    return f"{driver.log_dir}/stderr" if driver.log_dir else "on the machine that ran it"
