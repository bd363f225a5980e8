"""The DAGs of the night: audits of every live run, and all plans in turn."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.models.asset import AssetEvent
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from conftest import load_dags, run_through, states, store_dags
from sqlalchemy import select
from stage import Deployed
from test_structure import edited
from test_tasks import UPKEEP

from dags.entities import read_plans, run_name
from dags.operators.command import project_root
from dags.render import _JUST_PASSED

OPTIONS = ["--since", "unverified", "--until", "committed", "--jobs", "1"]


def test_every_pipeline_is_audited_on_its_asset(pipelines):
    edited(pipelines, "another")
    (pipelines / "broken.yml").write_text("name: broken")
    dag = load_dags()["audit_nightly"]
    assert sorted(dag.task_ids) == ["another", "flight_delays"]
    assert (dag.schedule.expression, dag.catchup) == ("30 0 * * *", False)
    assert dag.max_active_tasks == 1
    assert not dag.is_paused_upon_creation
    task = dag.get_task("flight_delays")
    table = "slackwater://flight_delays/flight_delays"
    assert [asset.uri for asset in task.inlets] == [table]
    assert [asset.uri for asset in task.outlets] == [f"{table}/audit"]
    assert all(not task.upstream_task_ids for task in dag.tasks), "none holds up another"


def test_without_pipelines_there_is_no_dag(pipelines):
    (pipelines / "flight_delays.yml").unlink()
    assert "audit_nightly" not in load_dags()


@pytest.mark.usefixtures("airflow_database")
def test_a_night_judges_live_runs_and_tells_of_those_that_pass(pipelines, cluster):
    edited(pipelines, "another")
    edited(pipelines, "never")
    for name in ("flight_delays", "another"):
        run_through(load_dags()[name], run="r1")
    cluster.script("another", verify=1)
    night = run_through(load_dags()["audit_nightly"])
    assert states(night) == {"flight_delays": "success", "another": "failed", "never": "skipped"}
    assert night.state == "failed"
    file = "pipelines/flight_delays.yml"
    called = [call["arguments"] for call in cluster.calls("verify")]
    assert ["verify", file, "--run", "r1", *OPTIONS] in called
    assert len(called) == 2
    with create_session() as session:
        query = select(AssetEvent).where(AssetEvent.source_run_id == night.run_id)
        event = session.scalars(query).one()
        assert event.asset.uri == "slackwater://flight_delays/flight_delays/audit"
        assert event.extra["run"] == "r1"
        assert event.extra["verdict"] == "lost 0, duplicated 0, differing 0"


@pytest.mark.usefixtures("airflow_database")
def test_one_pipeline_can_be_chosen_and_a_run_without_commits_is_skipped(pipelines, cluster):
    edited(pipelines, "another")
    for name in ("flight_delays", "another"):
        run_through(load_dags()[name], run="r1")
    cluster.script(verify=3)
    night = run_through(load_dags()["audit_nightly"], pipeline="flight_delays")
    assert states(night) == {"flight_delays": "skipped", "another": "skipped"}
    assert len(cluster.calls("verify")) == 1
    cluster.script(batches=0, verify=2)  # nor is there a topic
    night = run_through(load_dags()["audit_nightly"])
    assert states(night) == {"flight_delays": "skipped", "another": "skipped"}
    assert len(cluster.calls("verify")) == 1, "nobody asks what cannot be answered"


@pytest.mark.usefixtures("airflow_database", "plans")
def test_a_fresh_project_has_nothing_due(pipelines):
    """Airflow would begin with the cron's last time, before there is anything to run on."""
    file = pipelines / "flight_delays.yml"
    file.write_text(file.read_text() + UPKEEP)
    store_dags()
    with create_session() as session:
        due = {
            dag.dag_id: dag.next_dagrun_create_after for dag in session.scalars(select(DagModel))
        }
    scheduled = {"audit_nightly", "chaos_nightly", "flight_delays.upkeep"}
    assert {dag for dag, at in due.items() if at is not None} >= scheduled
    begin = datetime.now(UTC) - _JUST_PASSED - timedelta(minutes=1)
    assert not [dag for dag in scheduled if due[dag] < begin]


@pytest.mark.stack
def test_the_scheduler_audits_at_half_past_midnight_and_not_at_its_first_sight(stage):
    pipeline, audits = stage.pipeline("audited"), Deployed(stage, "audit_nightly")
    pipeline.trigger("first")
    pipeline.until("first", "publish", "success")
    now = datetime.now(UTC)
    due = now.replace(hour=0, minute=30, second=0, microsecond=0)
    due += timedelta(days=1) * (due < now)
    after = stage.airflow.get(f"dags/{audits.name}")["next_dagrun_run_after"]
    assert datetime.fromisoformat(after) == due
    begun = stage.airflow.get(f"dags/{audits.name}/dagRuns")["dag_runs"]
    assert not [run for run in begun if run["run_type"] == "scheduled"]

    night = "by_hand"
    audits.until_tasks(pipeline.name)  # another file's DAG: it may be read after the pipeline's own
    audits.trigger(night)
    audits.until(night, pipeline.name, "success")
    live = run_name("first", 0)
    called = pipeline.calls("verify")[-1]["arguments"]
    assert called == ["verify", f"pipelines/{pipeline.file.name}", "--run", live, *OPTIONS]
    events = stage.airflow.get("assets/events?order_by=-timestamp")["asset_events"]
    assert any(one["source_run_id"] == night and one["extra"]["run"] == live for one in events)


PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plans():
    """Two plans in the checkout that the DAGs work on."""
    folder = project_root() / "chaos" / "plans"
    folder.mkdir(parents=True)
    for name in ("stalls.yml", "first.yml"):
        shutil.copy(PROJECT / "chaos" / "plans" / name, folder)
    yield folder
    shutil.rmtree(folder)


def test_every_plan_of_the_project_is_run():
    assert "chaos/plans/first.yml" in read_plans(PROJECT)


def test_without_plans_there_is_no_dag():
    assert "chaos_nightly" not in load_dags()


@pytest.mark.usefixtures("plans")
def test_plans_run_one_after_the_other():
    dag = load_dags()["chaos_nightly"]
    assert [task.task_id for task in dag.topological_sort()] == [
        "first",
        "stalls",
        "publish",
        "verdict",
    ]
    assert dag.get_task("stalls").upstream_task_ids == {"first"}
    assert dag.schedule.expression == "30 1 * * *"
    assert dag.max_active_runs == 1


@pytest.mark.usefixtures("airflow_database", "plans")
def test_a_night_in_which_all_plans_pass(cluster):
    run = run_through(load_dags()["chaos_nightly"], seed=7)
    assert set(states(run).values()) == {"success"}
    assert run.state == "success"
    first = cluster.calls("chaos")[0]["arguments"]
    assert first[:5] == ["chaos", "run", "chaos/plans/first.yml", "--seed", "7"]
    with create_session() as session:
        query = select(AssetEvent).where(AssetEvent.source_run_id == run.run_id)
        event = session.scalars(query).one()
        assert event.asset.uri == "slackwater://chaos_nightly/reports"
        assert event.extra == {"reports": ["first", "stalls"]}


@pytest.mark.usefixtures("airflow_database", "plans")
@pytest.mark.parametrize("code", [1, 3])
def test_a_failed_plan_fails_the_night_and_holds_up_nothing(cluster, code):
    cluster.script(plans={"first": code})
    run = run_through(load_dags()["chaos_nightly"])
    assert states(run) == {
        "first": "failed",
        "stalls": "success",
        "publish": "success",
        "verdict": "upstream_failed",
    }
    assert run.state == "failed"
    seeds = {call["arguments"][4] for call in cluster.calls("chaos")[:2]}
    assert len(seeds) == 1
    assert seeds.pop().isdecimal()
