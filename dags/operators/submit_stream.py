"""Submits the streaming job, or finds the one that an earlier try has submitted."""

from __future__ import annotations

import time
from typing import Any

from airflow.sdk import Context, ResumableJobMixin
from airflow.sdk.exceptions import AirflowException

from dags.entities import run_name
from dags.operators import spark_driver
from dags.operators.links import SparkDriverLink
from dags.operators.run_command import CommandTask
from dags.operators.targets import clear_number, fixed_ends
from infra.spark_rest import Driver

Submission = dict[str, Any]
"""What `slackwater submit` printed – submission_id, run, checkpoint, table –, and for increments
`until`, the ends of the topic when they were submitted."""


class SubmitStream(ResumableJobMixin, CommandTask):
    """Submits a pipeline's job to the cluster and waits until its driver runs, not until it ends.

    Nothing makes a twin: a retry finds the submission in the task's state store; where a try died
    before it could be stored there, `slackwater submit` attaches to the job of the same name.

    Args:
        file: the pipeline file.
        fixed_run: the run for every DAG run; None: one of its own for each, and for each clear.
        available_now: process what is there, then end, instead of running on.
        start_timeout_s: how long the cluster may take to start the driver.
        poll_s: seconds between two looks at the driver.
    """

    operator_extra_links = (SparkDriverLink(),)
    ui_color = "#fff4e0"

    def __init__(
        self,
        *,
        file: str,
        fixed_run: str | None = None,
        available_now: bool = False,
        start_timeout_s: float = 300,
        poll_s: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.fixed_run = fixed_run
        self.available_now = available_now
        self.start_timeout_s = start_timeout_s
        self.poll_s = poll_s

    def execute(self, context: Context) -> Submission:
        """Gives the submission of a job whose driver runs or has ended well."""
        # A key for each clear: a cleared task submits again instead of finding its old job ended.
        self.external_id_key = f"submission.{clear_number(context)}"
        return self.execute_resumable(context)

    def submit_job(self, context: Context) -> Submission:
        """Calls `slackwater submit`, which attaches if a job of this name runs already."""
        # An increment takes the topic's ends as it starts: the target must be fixed before.
        until = fixed_ends(self, context, self.file) if self.available_now else None
        arguments = ["submit", self.file, "--run", self._run(context)]
        if self.available_now:
            arguments.append("--available-now")
        if limit := context["params"].get("max_offsets"):
            arguments += ["--max-offsets", str(limit)]
        submission = self.call(*arguments).result()
        if not submission or not {"submission_id", "run"} <= submission.keys():
            msg = f"slackwater submit printed no submission_id and run but {submission}"
            raise AirflowException(msg)
        return submission | {"until": until} if until else submission

    def get_job_status(self, external_id: Submission, context: Context) -> str:
        """The driver's state as the master gives it."""
        return spark_driver.look_at(external_id["submission_id"]).state

    def is_job_active(self, status: str) -> bool:
        """Whether the driver runs or will."""
        return status in spark_driver.ALIVE

    def is_job_succeeded(self, status: str) -> bool:
        """Whether the driver ended well; whether the log was passed is for the next step."""
        return status == spark_driver.FINISHED

    def poll_until_complete(self, external_id: Submission, context: Context) -> Submission:
        """Waits until the driver runs or has ended well.

        Raises:
            AirflowException: it ended badly, or did not start in time.
        """
        driver = external_id["submission_id"]
        give_up = time.monotonic() + self.start_timeout_s
        while (seen := spark_driver.look_at(driver)).state not in spark_driver.STARTED:
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
        """The submission, which the following steps read."""
        SparkDriverLink().show(self, context, external_id.get("ui"))
        return external_id

    def _run(self, context: Context) -> str:
        named = context["params"].get("run") or self.fixed_run
        return named or run_name(context["dag_run"].run_id, clear_number(context))


def _log_of(driver: Driver) -> str:
    return f"{driver.log_dir}/stderr" if driver.log_dir else "in the Spark worker's folder"
