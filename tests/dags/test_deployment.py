"""Whole deployments by `dag.test()`: green ones, failed jobs, retries, clears, increments."""

import json
from datetime import timedelta

import pytest
from airflow.models.asset import AssetEvent
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from conftest import load_dags, run_through, states
from sqlalchemy import select

pytestmark = pytest.mark.usefixtures("airflow_database", "cluster")


def load(name: str = "flight_delays"):
    """The DAG as parsed, with retries that do not wait."""
    dag = load_dags()[name]
    for task in dag.tasks:
        task.retry_delay = timedelta(0)
    dag.get_task("wait_for_progress").poll_s = 0.05
    dag.get_task("submit").poll_s = 0.05
    return dag


def deploy(dag=None, **conf):
    """One DAG run, of the DAG as loaded unless another is given."""
    return run_through(dag or load(), **conf)


def scheduled(pipelines) -> None:
    """The pipeline of the flights once more, as increments."""
    text = (pipelines / "flight_delays.yml").read_text().replace("name: flight_", "name: nightly_")
    text = text.replace("schedule: continuous", 'schedule: "15 3 * * *"')
    (pipelines / "nightly.yml").write_text(text)


def result(run, task_id: str, key: str = "return_value"):
    with create_session() as session:
        query = XComModel.get_many(
            key=key, task_ids=[task_id], dag_ids=[run.dag_id], run_id=run.run_id
        )
        rows = session.scalars(query).all()
        return XComModel.deserialize_value(rows[0]) if rows else None


def test_a_deployment_is_green_when_progress_has_passed_the_end(pipelines, cluster):
    run = deploy()
    assert set(states(run).values()) == {"success"}
    verbs = [call["arguments"][0] for call in cluster.calls()]
    assert [verb for verb in verbs if verb not in ("progress", "runs")] == [
        "validate",
        "topics",
        "submit",
        "quality",
    ]
    file = "pipelines/flight_delays.yml"
    name = result(run, "submit")["run"]
    assert cluster.calls("submit")[0]["arguments"] == ["submit", file, "--run", name]
    copy = result(run, "submit")["file"]
    wanted = ["quality", copy, "--run", name, "--json"]
    assert cluster.calls("quality")[0]["arguments"] == wanted
    asked = [call["arguments"] for call in cluster.calls("progress")]
    ends = {"0": 100, "1": 200, "2": 300}
    assert asked[0] == ["progress", file, "--ends"]
    assert all(call[-2] == "--until" and json.loads(call[-1]) == ends for call in asked[1:])
    assert len(asked) >= 3  # once in the task, then by the trigger
    assert {call["stdin"] for call in cluster.calls()} == {"/dev/null"}
    (job,) = cluster.jobs().values()
    assert job["state"] == "RUNNING"  # it continues: green does not mean that a process has ended


def test_the_asset_event_tells_run_rows_and_progress(pipelines, cluster):
    run = deploy()
    with create_session() as session:
        event = session.scalars(
            select(AssetEvent).where(AssetEvent.source_run_id == run.run_id)
        ).one()
        assert event.asset.uri == "slackwater://flight_delays/flight_delays"
        assert event.extra == {
            "run": result(run, "submit")["run"],
            "table": "t/flights",
            "rows": 42,
            "progress": {"flights/0": 100, "flights/1": 200, "flights/2": 300},
            "final_until": {"hourly": "2013-01-01T05:00:00+00:00"},
        }


def test_the_links_of_the_tasks_lead_to_the_driver_and_the_docs(pipelines, cluster):
    run = deploy()
    assert result(run, "submit", "_link_SparkDriverLink") == "http://127.0.0.1:4040"
    assert result(run, "wait_for_progress", "_link_SparkDriverLink") == "http://127.0.0.1:4040"
    assert result(run, "quality", "_link_DataDocsLink").endswith("/data-docs/flight_delays/")


def test_checks_that_do_not_hold_have_a_link_to_their_pages_too(pipelines, cluster):
    cluster.script(fail={"quality": "2 of 9 expectations do not hold: see the Data Docs"})
    assert result(deploy(), "quality", "_link_DataDocsLink").endswith("/data-docs/flight_delays/")


def test_a_job_that_fails_fails_the_wait_at_once(pipelines, cluster):
    cluster.script(state_while_running="FAILED", step=10)
    run = deploy()
    assert run.state == "failed"
    assert states(run)["wait_for_progress"] == "failed"
    assert states(run)["quality"] == states(run)["publish"] == "upstream_failed"
    (wait,) = [ti for ti in run.get_task_instances() if ti.task_id == "wait_for_progress"]
    assert wait.try_number == 1  # not tried again: it could not end otherwise
    assert len(cluster.jobs()) == 1


def test_a_finished_job_that_is_not_through_is_not_green(pipelines, cluster):
    cluster.script(state_while_running="FINISHED", step=10)
    run = deploy()
    assert states(run)["wait_for_progress"] == "failed"


def test_a_finished_job_that_is_through_is_green(pipelines, cluster):
    cluster.script(state_while_running="FINISHED", step=300)
    assert deploy().state == "success"


def test_a_driver_that_does_not_start_fails_the_submission(pipelines, cluster):
    cluster.script(state_after_submit="FAILED")
    run = deploy()
    assert states(run)["submit"] == "failed"
    assert len(cluster.jobs()) == 3  # a failed job is submitted again by each of the two retries
    assert len({name.rpartition(".")[0] for name in cluster.jobs()}) == 1  # for the same run


def test_a_driver_that_waits_for_a_core_is_reported(pipelines, cluster):
    cluster.script(state_after_submit="SUBMITTED")
    dag = load()
    dag.get_task("submit").start_timeout_s = 0.2
    run = deploy(dag)
    assert states(run)["submit"] == "failed"
    assert len(cluster.jobs()) == 1  # the retries found the one that waits
    assert len(cluster.calls("submit")) == 1


def test_bad_quality_fails_the_deployment_and_publishes_nothing(pipelines, cluster):
    cluster.script(fail={"quality": "2 of 9 expectations do not hold: see the Data Docs"})
    run = deploy()
    assert states(run)["quality"] == "failed"
    assert states(run)["publish"] == "upstream_failed"
    assert len(cluster.calls("quality")) == 1
    with create_session() as session:
        events = select(AssetEvent).where(AssetEvent.source_run_id == run.run_id)
        assert session.scalars(events).all() == []


def test_an_invalid_pipeline_is_not_submitted(pipelines, cluster):
    cluster.script(fail={"validate": "pipelines/flight_delays.yml:3: source.topic: no"})
    run = deploy()
    assert states(run)["validate"] == "failed"
    assert cluster.calls("submit") == []


def test_parameters_name_the_run_and_throttle_the_job(pipelines, cluster):
    deploy(run="blue-2", max_offsets=7000)
    assert cluster.calls("submit")[0]["arguments"][2:] == [
        "--run",
        "blue-2",
        "--max-offsets",
        "7000",
    ]
    assert cluster.calls("quality")[0]["arguments"][-2] == "blue-2"


def test_increments_share_a_run_and_fix_their_target_before_they_start(pipelines, cluster):
    scheduled(pipelines)
    cluster.script(state_while_running="FINISHED", step=300)
    assert deploy(load("nightly_delays")).state == "success"
    assert deploy(load("nightly_delays")).state == "success"
    order = [
        call["arguments"]
        for call in cluster.calls()
        if "--ends" in call["arguments"] or call["arguments"][0] == "submit"
    ]
    ends = ["progress", "pipelines/nightly.yml", "--ends"]
    submit = ["submit", "pipelines/nightly.yml", "--run", "increments", "--available-now"]
    assert order == [ends, submit, ends, submit]
    assert sorted(cluster.jobs()) == ["increments.0", "increments.1"]


def test_increments_go_on_with_the_run_that_was_handed_over_to(pipelines, cluster):
    scheduled(pipelines)
    cluster.script(state_while_running="FINISHED", step=300)
    deploy(load("nightly_delays"))
    deploy(load("nightly_delays"), run="green", on_change="beside")
    over = deploy(load_dags()["nightly_delays.handover"], run="green")
    assert states(over) == {"handover": "success"}
    (call,) = cluster.calls("handover")
    assert call["arguments"] == ["handover", "pipelines/nightly.yml", "--to", "green"]
    assert result(deploy(load("nightly_delays")), "submit")["run"] == "green"
