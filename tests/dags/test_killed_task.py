"""A task process that is killed makes no twin; a cleared deployment is a new run. Real services."""

import os
import signal

import pytest
from cluster import Cluster
from services import Airflow, running_airflow, wait_for

DAG = "flight_delays"

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("airflow_database")]


def task(airflow: Airflow, run: str, task_id: str) -> dict:
    return airflow.get(f"dags/{DAG}/dagRuns/{run}/taskInstances/{task_id}")


def kill_task_of(cluster: Cluster, call: int) -> None:
    """SIGKILL to the task process that made this call of `submit`."""
    wait_for(lambda: len(cluster.calls("submit")) > call, 60, "slackwater submit is called")
    os.kill(cluster.calls("submit")[call]["task_pid"], signal.SIGKILL)


def ended(airflow: Airflow, run: str) -> str:
    def state() -> str:
        now = airflow.get(f"dags/{DAG}/dagRuns/{run}")["state"]
        return now if now in ("success", "failed") else ""

    return wait_for(state, 120, f"the DAG run {run} ends")


def test_killed_tasks_submit_once_and_a_clear_submits_anew(pipelines, cluster, tmp_path):
    with running_airflow(tmp_path) as airflow:
        wait_for(lambda: airflow.knows(DAG), 60, "the DAG is there")
        airflow.patch(f"dags/{DAG}", is_paused=False)

        # Killed after the cluster has the job, before the task could note it down.
        cluster.script(submit_s=5, state_after_submit="SUBMITTED")
        airflow.post(f"dags/{DAG}/dagRuns", dag_run_id="first", logical_date=None)
        wait_for(cluster.jobs, 90, "the job is submitted")
        kill_task_of(cluster, 0)

        # Killed while it waits for the driver, the submission noted down.
        def noted() -> bool:
            path = f"dags/{DAG}/dagRuns/first/taskInstances/submit/state-store"
            return "submission.0" in str(airflow.get(path))

        wait_for(noted, 90, "the second try notes the submission")
        kill_task_of(cluster, 1)
        wait_for(
            lambda: task(airflow, "first", "submit")["state"] == "up_for_retry", 60, "it was killed"
        )
        (job,) = cluster.jobs()
        cluster.set_state(job, "RUNNING")
        assert ended(airflow, "first") == "success"
        assert task(airflow, "first", "submit")["try_number"] == 3
        assert len(cluster.calls("submit")) == 2  # the second attached, the third did not ask
        assert list(cluster.jobs()) == [job]
        links = airflow.get(f"dags/{DAG}/dagRuns/first/taskInstances/submit/links")
        assert links["extra_links"] == {"Spark driver": "http://127.0.0.1:4040"}

        # Cleared as a whole, it is another run with another job.
        cluster.script()
        airflow.post(
            f"dags/{DAG}/clearTaskInstances", dag_run_id="first", dry_run=False, only_failed=False
        )
        wait_for(lambda: len(cluster.jobs()) == 2, 90, "the cleared run submits")
        assert ended(airflow, "first") == "success"
        runs = {name.rpartition(".")[0] for name in cluster.jobs()}
        assert len(runs) == 2

        # A check that is cleared alone stays with the run that was submitted.
        before = cluster.calls("quality")
        airflow.post(
            f"dags/{DAG}/clearTaskInstances",
            dag_run_id="first",
            task_ids=["quality"],
            dry_run=False,
            only_failed=False,
        )
        wait_for(lambda: len(cluster.calls("quality")) > len(before), 90, "it checks again")
        assert cluster.calls("quality")[-1]["arguments"] == before[-1]["arguments"]
        assert len(cluster.jobs()) == 2
