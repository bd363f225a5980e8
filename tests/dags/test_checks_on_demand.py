"""The actions `verify` and `replay` of a pipeline's DAG: one command, and nothing is deployed."""

import pytest
from conftest import load_dags, run_through, states

FILE = "pipelines/flight_delays.yml"
RANGE = {"replay_from": '{"0": 100}', "replay_to": "2013-01-02T00:00Z"}
CASES = [
    ({"action": "verify", "run": "r1"}, ["verify", FILE, "--run=r1"]),
    ({"action": "verify"}, ["verify", FILE]),
    (
        {"action": "replay", "run": "r1", **RANGE},
        ["replay", FILE, "--run=r1", '--from={"0": 100}', "--to=2013-01-02T00:00Z"],
    ),
]


@pytest.mark.usefixtures("airflow_database", "pipelines")
@pytest.mark.parametrize(("conf", "called"), CASES)
def test_the_command_is_called_for_the_run_and_nothing_else_happens(cluster, conf, called):
    run = run_through(load_dags()["flight_delays"], **conf)
    found = states(run)
    assert found[conf["action"]] == "success"
    assert {task for task, state in found.items() if state == "success"} == {conf["action"]}
    assert [call["arguments"] for call in cluster.calls()] == [called]


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_a_bad_verdict_turns_the_dag_run_red(cluster):
    cluster.script(verify=1)
    run = run_through(load_dags()["flight_delays"], action="verify")
    assert states(run)["verify"] == "failed"
    assert run.state == "failed"
