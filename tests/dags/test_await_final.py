"""A DAG downstream waits until windows up to a time are final, by the Asset's newest event."""

import pytest
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from conftest import load_dags, run_through, states
from test_deployment import deploy

pytestmark = pytest.mark.usefixtures("airflow_database", "cluster", "pipelines")


DOWNSTREAM = """\
from datetime import UTC, datetime

from airflow.sdk import DAG

from dags.operators.await_final import AwaitFinal

with DAG("report", schedule=None, start_date=datetime(2020, 1, 1, tzinfo=UTC)):
    AwaitFinal(
        task_id="final", pipeline="flight_delays", query={query!r}, until={until!r},
        mode="poke", poke_interval=0.1, timeout=0.3,
    )
"""


@pytest.fixture
def waited(tmp_path_factory):
    """Gives the state of a wait that gives up soon, in a DAG of a user's own file.

    Each file has its own folder: Python takes what it compiled of a file for another of the
    same name, length and second.
    """

    def wait(until: str, query: str = "hourly") -> str:
        folder = tmp_path_factory.mktemp("downstream")
        file = folder / "report.py"
        file.write_text(DOWNSTREAM.format(query=query, until=until))
        bag = DagBag(dag_folder=file, bundle_path=folder, bundle_name="dags-folder")
        sync_bag_to_db(bag, "dags-folder", None)
        return states(run_through(bag.dags["report"]))["final"]

    return wait


@pytest.mark.parametrize(
    ("final_until", "states_by_until"),
    [
        (
            "2013-01-01T05:00:00+00:00",
            {
                "2013-01-01T05:00:00+00:00": "success",
                "2013-01-01T04:00": "success",
                "2013-01-01T05:00:00.000001+00:00": "failed",
                "2013-01-01T05:30:00+01:00": "success",
            },
        ),
        ("all", {"2113-01-01T00:00:00+00:00": "success"}),
        (None, {"2013-01-01T05:00:00+00:00": "failed"}),
    ],
)
def test_it_waits_for_the_windows(cluster, waited, final_until, states_by_until):
    cluster.script(final_until={"hourly": final_until})
    assert deploy().state == "success"
    assert {until: waited(until) for until in states_by_until} == states_by_until


def test_a_check_that_fails_holds_the_news_back(cluster, waited):
    """The rows are there, and stay; nobody downstream hears of them."""
    assert deploy().state == "success"
    cluster.script(
        fail={"quality": "1 of 9 expectations does not hold"},
        final_until={"hourly": "2013-01-01T09:00:00+00:00"},
    )
    assert states(deploy())["publish"] == "upstream_failed"
    assert waited("2013-01-01T05:00:00+00:00") == "success"
    assert waited("2013-01-01T09:00:00+00:00") == "failed"


def test_a_query_that_does_not_exist_is_no_reason_to_wait(waited):
    assert deploy().state == "success"
    assert waited("2013-01-01T05:00:00+00:00", "daily") == "failed"


def test_a_continuous_pipeline_has_a_dag_for_later_news():
    dags = load_dags()
    news = dags["flight_delays.news"]
    (task,) = news.tasks
    publish = dags["flight_delays"].get_task("publish")
    assert [asset.uri for asset in task.outlets] == [asset.uri for asset in publish.outlets]
    assert news.is_paused_upon_creation is False


def test_nobody_else_tells_news():
    assert run_through(load_dags()["flight_delays.news"]).state == "failed"
