"""The nightly DAG: all plans in turn, reports published whatever they say, green if all are."""

import shutil
from pathlib import Path

import pytest
from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
from conftest import load_dags, run_through, states
from sqlalchemy import select

from dags.entities import read_plans
from dags.operators.command import project_root

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
    assert dag.schedule == "30 1 * * *"
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
