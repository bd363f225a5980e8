"""What the monitor makes of each answer, asked without a DAG around it."""

import asyncio
from datetime import UTC, datetime

import pytest

from dags.operators import monitor
from dags.operators.monitor import MonitorTrigger

AT = datetime(2026, 11, 22, tzinfo=UTC).isoformat()


def answer(state: str, why: str | None = None, run: str = "r") -> dict:
    return {"run": run, "state": state, "why": why, "live": True, "submitted_at": AT}


def event() -> str:
    """What the trigger says in the end, made again from what Airflow stores of it."""
    path, stored = MonitorTrigger(file="p.yml", run="r", poll_s=0.01).serialize()
    assert path == "dags.operators.monitor.MonitorTrigger"

    async def events() -> list[str]:
        return [str(one.task_instance_state) async for one in MonitorTrigger(**stored).run()]

    (only,) = asyncio.run(events())
    return only


def test_it_asks_as_long_as_the_job_lives(cluster):
    states = ["submitted", "running", "restarting", "running", "waiting", "stopping"]
    cluster.script(answers=[*map(answer, states), answer("stopped")])
    assert event() == "skipped"
    wanted = ["runs", "p.yml", "--json"]
    assert [call["arguments"] for call in cluster.calls()] == [wanted] * 7


def test_a_job_that_was_replaced_is_no_alarm(cluster):
    cluster.script(answers=[answer("running"), answer("superseded", "run b has taken its place")])
    assert event() == "skipped"


@pytest.mark.parametrize(
    "dead", [answer("failed", "disk full"), answer("stopped", "the cluster was stopped under it")]
)
def test_a_dead_job_is_a_failure_once_it_was_seen_twice(cluster, dead):
    cluster.script(answers=[dead, answer("running"), dead, dead])
    assert event() == "failed"
    assert len(cluster.calls()) == 4


def test_a_run_whose_folder_is_gone_is_a_failure(cluster):
    cluster.script(answers=[answer("running"), answer("running", run="another")])
    assert event() == "failed"


def test_an_outage_is_borne(cluster):
    cluster.script(answers=[answer("running"), 1, 1, answer("running"), answer("stopped")])
    assert event() == "skipped"


def test_an_outage_without_end_is_a_failure(cluster, monkeypatch):
    monkeypatch.setattr(monitor, "PATIENCE_S", 0.5)
    cluster.script(answers=[answer("running"), 1])
    assert event() == "failed"
    assert len(cluster.calls()) > 1
