"""The heartbeat task calls the command, and fails with its sentence."""

import pytest
from airflow.sdk.exceptions import AirflowException

from dags.operators.heartbeat import WriteHeartbeats


def test_it_looks_once_and_gives_the_lines(cluster):
    task = WriteHeartbeats(task_id="beat", file="pipelines/p.yml", silent="5 min")
    assert task.execute({}) == ["heartbeat: all well"]
    wanted = ["heartbeat", "pipelines/p.yml", "--once", "--silent", "5 min"]
    assert [call["arguments"] for call in cluster.calls()] == [wanted]


def test_a_delay_is_passed_on(cluster):
    WriteHeartbeats(task_id="beat", file="p.yml", max_delay="9 s").execute({})
    (call,) = cluster.calls()
    assert call["arguments"][-2:] == ["--max-delay", "9 s"]


def test_a_broker_that_is_away_fails_the_task(cluster):
    cluster.script(fail={"heartbeat": "no Kafka broker answers on h:1"})
    with pytest.raises(AirflowException, match="no Kafka broker answers"):
        WriteHeartbeats(task_id="beat", file="p.yml").execute({})
