"""A task process that is killed makes no twin, nor does a clear of the whole DAG run."""

import os
import signal

import pytest
from services import wait_for
from stage import Deployed, Stage

from dags.entities import run_name

RUN = run_name("first", 0)

pytestmark = pytest.mark.stack


def kill_task_of(deployed: Deployed, call: int) -> None:
    """SIGKILL to the task process that made this call of `submit`."""
    calls = wait_for(lambda: deployed.calls("submit")[call:], 120, "slackwater submit is called")
    os.kill(calls[0]["task_pid"], signal.SIGKILL)


def test_killed_tasks_submit_once_and_a_clear_goes_on(stage: Stage):
    stage.cluster.script(pipeline="killed_task", submit_s=5, state_after_submit="SUBMITTED")
    deployed = stage.pipeline("killed_task")

    # Killed after the cluster has the job, before the task could note it down.
    deployed.trigger("first")
    wait_for(lambda: deployed.jobs() == {RUN: "SUBMITTED"}, 180, "the job is submitted")
    kill_task_of(deployed, 0)

    # Killed while it waits for the driver, the submission noted down.
    def noted() -> bool:
        path = f"dags/{deployed.name}/dagRuns/first/taskInstances/submit/state-store"
        return "submission.0" in str(stage.airflow.get(path))

    wait_for(noted, 180, "the second try notes the submission")
    kill_task_of(deployed, 1)
    deployed.until("first", "submit", "up_for_retry")
    driver = deployed.driver(RUN)
    stage.cluster.set_state(driver, "RUNNING")
    stage.cluster.script(pipeline="killed_task")
    deployed.until("first", "publish", "success")
    assert deployed.tries("first", "submit") == 3
    assert len(deployed.calls("submit")) == 2  # the second attached, the third did not ask
    assert deployed.driver(RUN) == driver

    # Cleared as a whole, it continues with the job that lives.
    deployed.until("first", "monitor", "deferred")
    deployed.clear("first")
    deployed.until_try("first", "publish", 2)
    deployed.until("first", "publish", "success")
    deployed.until("first", "monitor", "deferred")
    assert deployed.driver(RUN) == driver
    assert deployed.jobs() == {RUN: "RUNNING"}
