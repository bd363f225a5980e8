"""An Airflow connection becomes the login of every command, and is seen nowhere else."""

import json
from pathlib import Path

import pytest
from airflow.models.dagcode import DagCode
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.xcom import XComModel
from airflow.sdk import Connection
from airflow.utils.session import create_session
from conftest import HOME, load_dags, run_through, states
from sqlalchemy import select

from dags.operators.command import CommandError, run_quietly
from dags.operators.kafka_connection import CONNECTION_VARIABLE, ConnectionUnusable, variables
from dags.operators.run_command import RunCommand

SECRET = "hunter2-of-the-tide"  # noqa: S105 - invented

EXTRA = {
    "bootstrap.servers": "one:9093,two:9093",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "tide",
    "sasl.password": SECRET,
    "ssl.ca.location": "/etc/ca.pem",
    "group.id": "another task's",
    "socket.keepalive.enable": True,
}
KAFKA = {
    "SLACKWATER_KAFKA_BOOTSTRAP": "one:9093,two:9093",
    "SLACKWATER_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
    "SLACKWATER_KAFKA_USERNAME": "tide",
    "SLACKWATER_KAFKA_PASSWORD": SECRET,
    "SLACKWATER_KAFKA_CA": "/etc/ca.pem",
    "SLACKWATER_KAFKA_TLS": "true",
    "SLACKWATER_KAFKA_PROPERTIES": '{"socket.keepalive.enable": "True"}',
}


@pytest.fixture
def named(monkeypatch):
    monkeypatch.setenv(CONNECTION_VARIABLE, "tides")
    given = json.dumps({"conn_type": "kafka", "extra": EXTRA})
    monkeypatch.setenv("AIRFLOW_CONN_TIDES", given)


def logins(cluster):
    lines = (cluster.folder / "logins.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.usefixtures("airflow_database", "named")
def test_every_command_of_a_deployment_gets_it_and_nobody_else(pipelines, cluster, capfd):
    run = run_through(load_dags()["flight_delays"])
    assert set(states(run).values()) == {"success"}
    found = logins(cluster)
    assert len(found) >= 6  # of tasks and of the trigger
    assert all(one == KAFKA for one in found)
    with create_session() as session:
        xcoms = [str(one.value) for one in session.scalars(select(XComModel))]
        dags = [one.source_code for one in session.scalars(select(DagCode))]
        dags += [json.dumps(one.data) for one in session.scalars(select(SerializedDagModel))]
    logged = [path.read_text(errors="replace") for path in Path(HOME).rglob("*.log")]
    said = "".join(capfd.readouterr())
    assert xcoms
    assert SECRET not in "".join((*xcoms, *dags, *logged, said))


def test_a_generic_connection():
    given = Connection(
        conn_id="t", conn_type="generic", host="one", port=9093, login="tide", password=SECRET,
        extra=json.dumps({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}),
    )  # fmt: skip
    assert variables(given) == {
        "SLACKWATER_KAFKA_BOOTSTRAP": "one:9093",
        "SLACKWATER_KAFKA_SASL_MECHANISM": "PLAIN",
        "SLACKWATER_KAFKA_USERNAME": "tide",
        "SLACKWATER_KAFKA_PASSWORD": SECRET,
    }


def test_a_key_apart_is_one_sentence(monkeypatch):
    extra = json.dumps({"ssl.key.location": "/k", "sasl.password": SECRET})
    given = Connection(conn_id="tides", conn_type="kafka", extra=extra)
    with pytest.raises(ConnectionUnusable, match="put certificate and key") as caught:
        variables(given)
    assert SECRET not in str(caught.value)


def test_without_a_name_there_is_none(cluster):
    RunCommand(task_id="t", arguments=["validate", "p.yml"]).call("validate", "p.yml")
    assert logins(cluster) == [{}]


def test_a_trigger_fails_with_the_sentence(cluster, monkeypatch, airflow_database):
    import asyncio

    monkeypatch.setenv(CONNECTION_VARIABLE, "tides")
    extra = {"ssl.key.location": "/k"}
    monkeypatch.setenv("AIRFLOW_CONN_TIDES", json.dumps({"conn_type": "kafka", "extra": extra}))
    with pytest.raises(CommandError, match="put certificate and key") as caught:
        asyncio.run(run_quietly(["progress"]))
    assert caught.value.exit_code == 2
