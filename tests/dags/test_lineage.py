"""The task that starts a job is the parent of the job's OpenLineage events."""

from uuid import UUID

import pytest
from conftest import load_dags, run_through

URL = "http://127.0.0.1:5000"


def parents(cluster, verb):
    return [call["parent"] for call in cluster.calls(verb)]


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_the_task_that_submits_is_named_as_the_parent(cluster, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_URL", URL)
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "prod")
    run = run_through(load_dags()["flight_delays"])
    (parent,) = parents(cluster, "submit")
    namespace, name, run_id = parent.split("/")
    assert (namespace, name) == ("prod", "flight_delays.submit")
    (task,) = [ti for ti in run.get_task_instances() if ti.task_id == "submit"]
    assert UUID(run_id) == UUID(str(task.id))
    assert set(parents(cluster, "quality")) == {None}, "it starts no job"


@pytest.mark.usefixtures("airflow_database", "pipelines")
@pytest.mark.parametrize("given", [{}, {"OPENLINEAGE_URL": URL, "OPENLINEAGE_PARENT_ID": "a/b/c"}])
def test_without_a_receiver_nothing_is_named_and_what_was_named_stays(cluster, monkeypatch, given):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    run_through(load_dags()["flight_delays"])
    assert parents(cluster, "submit") == [given.get("OPENLINEAGE_PARENT_ID")]
