"""Airflow's services on a machine: a killed task makes no twin, a long write is waited for."""

import os
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

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


SQLITE_GIVES_UP_S = 5
"""After this long, SQLite gives those that wait for its lock an error."""


def hold(database: Path, held: threading.Event) -> None:
    """Keeps the lock for longer than SQLite would have others wait."""
    with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        held.set()
        time.sleep(SQLITE_GIVES_UP_S + 2)
        connection.execute("ROLLBACK")


def test_a_service_waits_for_one_that_writes_long(stage):
    held = threading.Event()
    writer = threading.Thread(target=hold, args=(stage.database, held))
    writer.start()
    assert held.wait(60)
    asked = time.monotonic()
    stage.airflow.post("variables", key="patience", value="enough")
    assert time.monotonic() - asked > SQLITE_GIVES_UP_S
    writer.join()
    assert stage.airflow.get("variables/patience")["value"] == "enough"
