"""Tasks around a deployment: checks on demand, upkeep of tables, alerts, and lineage."""

import json
import sys
from uuid import UUID

import pytest
from conftest import NOTIFIER, load_dags, run_through, states
from test_deployment import deploy

from dags.operators.alerts import Alert, alerts

FILE = "pipelines/flight_delays.yml"
RANGE = {"replay_from": '{"0": 100}', "replay_to": "2013-01-02T00:00Z"}
CASES = [
    ({"run": "r1"}, ["verify", FILE, "--run=r1"]),
    ({}, ["verify", FILE]),
    (
        {"run": "r1", **RANGE},
        ["replay", FILE, "--run=r1", '--from={"0": 100}', "--to=2013-01-02T00:00Z"],
    ),
]


@pytest.mark.usefixtures("airflow_database", "pipelines")
@pytest.mark.parametrize(("conf", "called"), CASES)
def test_the_command_is_called_for_the_run_and_nothing_else_happens(cluster, conf, called):
    run = run_through(load_dags()[f"flight_delays.{called[0]}"], **conf)
    assert states(run) == {called[0]: "success"}
    assert [call["arguments"] for call in cluster.calls()] == [called]


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_a_bad_verdict_turns_the_dag_run_red(cluster):
    cluster.script(verify=1)
    run = run_through(load_dags()["flight_delays.verify"])
    assert states(run)["verify"] == "failed"
    assert run.state == "failed"


UPKEEP = 'upkeep: {schedule: "@hourly", retention: 2 days}\n'


def with_upkeep(pipelines, name="flight_delays"):
    path = pipelines / "flight_delays.yml"
    path.write_text(path.read_text().replace("name: flight_delays", f"name: {name}") + UPKEEP)


def test_only_a_file_that_asks_has_upkeep(pipelines):
    assert not [name for name in load_dags() if name.endswith(".upkeep")]
    with_upkeep(pipelines)
    dags = load_dags()
    dag = dags["flight_delays.upkeep"]
    assert dag.schedule.expression in ("@hourly", "0 * * * *")
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert dag.get_task("vacuum").upstream_task_ids == {"optimize"}


@pytest.mark.usefixtures("airflow_database")
def test_files_are_merged_and_then_old_ones_removed(pipelines, cluster):
    with_upkeep(pipelines)
    never = run_through(load_dags()["flight_delays.upkeep"])
    assert states(never) == {"optimize": "skipped", "vacuum": "skipped"}
    assert not cluster.calls("tables"), "there is nothing to work on"
    run_through(load_dags()["flight_delays"], run="r1")
    run = run_through(load_dags()["flight_delays.upkeep"])
    assert states(run) == {"optimize": "success", "vacuum": "success"}
    file = "pipelines/flight_delays.yml"
    called = [call["arguments"] for call in cluster.calls("tables")]
    assert called == [["tables", file, "optimize"], ["tables", file, "vacuum"]]


@pytest.mark.usefixtures("airflow_database")
def test_nothing_is_removed_if_merging_fails(pipelines, cluster):
    with_upkeep(pipelines)
    run_through(load_dags()["flight_delays"], run="r1")
    cluster.script(fail={"tables": "table hourly cannot be read"})
    run = run_through(load_dags()["flight_delays.upkeep"])
    assert states(run) == {"optimize": "failed", "vacuum": "upstream_failed"}
    assert {call["arguments"][2] for call in cluster.calls("tables")} == {"optimize"}


@pytest.mark.parametrize(
    ("end", "owner"),
    [
        ("upkeep", "the upkeep of a pipeline's tables"),
        ("news", "the news of a pipeline's table"),
        ("stop", "the action stop of a pipeline"),
    ],
)
def test_no_pipeline_has_the_name_of_a_dag_beside_anothers(pipelines, end, owner):
    with_upkeep(pipelines, name=f"other.{end}")
    from test_structure import parse

    bag = parse()
    assert not bag.dags
    (said,) = bag.import_errors.values()
    assert f"'other.{end}' is the DAG of {owner}" in said


@pytest.fixture
def alarms(tmp_path, monkeypatch):
    """Gives what one of Airflow's notifiers, in a module of the user's, has noted."""
    (tmp_path / "my_alerts.py").write_text(NOTIFIER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLACKWATER_ALERTS", "my_alerts:notify")
    monkeypatch.delitem(sys.modules, "my_alerts", raising=False)

    def read() -> list[dict]:
        file = tmp_path / "alerts.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    return read


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_quality_that_fails_alarms_and_nothing_else(cluster, alarms):
    assert deploy().state == "success"
    assert alarms() == []
    cluster.script(fail={"quality": "2 of 9 expectations do not hold"})
    assert states(deploy())["quality"] == "failed"
    (one,) = alarms()
    assert (one["dag"], one["task"]) == ("flight_delays", "quality")
    assert "2 of 9 expectations do not hold" in one["why"]


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_a_callback_that_does_not_exist_costs_the_alert_only(cluster, monkeypatch):
    monkeypatch.setenv("SLACKWATER_ALERTS", "no_such_module:notify")
    cluster.script(fail={"quality": "2 of 9 expectations do not hold"})
    assert states(deploy())["quality"] == "failed"


def test_names_are_looked_up_when_they_are_called(monkeypatch):
    monkeypatch.setenv("SLACKWATER_ALERTS", " a:b, c:d ,")
    assert [one.name for one in alerts()] == ["a:b", "c:d"]
    monkeypatch.delenv("SLACKWATER_ALERTS")
    assert alerts() == []
    with pytest.raises(ValueError, match="'notify' names no callback: write module:object"):
        Alert("notify")({})


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
