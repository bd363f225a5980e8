"""What the monitor makes of each answer, asked without a DAG around it."""

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from dags.operators import monitor, stop_job
from dags.operators.check_again import DueTrigger
from dags.operators.command import run_quietly
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
    monkeypatch.setattr(monitor, "time", cluster.clock(monitor.PATIENCE_S / 2))
    cluster.script(answers=[answer("running"), 1])
    assert event() == "failed"
    assert len(cluster.calls()) == 1 + 2  # borne once


def due(seconds: float) -> str:
    """What the trigger between two checks says in the end."""
    first = DueTrigger(file="p.yml", run="r", poll_s=0.01, due_s=time.time() + seconds)
    _, stored = first.serialize()

    async def events() -> list[str]:
        return [str(one.payload) async for one in DueTrigger(**stored).run()]

    (only,) = asyncio.run(events())
    return only


def test_a_check_is_due_after_a_while(cluster):
    cluster.script(answers=[answer("running")])
    assert due(0.3) == "due"


@pytest.mark.parametrize("state", ["failed", "stopped", "superseded"])
def test_nothing_is_checked_again_once_the_job_has_ended(cluster, state):
    cluster.script(answers=[answer("running"), answer(state)])
    assert due(600) == "skipped"


def killed(monkeypatch, file, state: str) -> None:
    """What Airflow does to the trigger of a task that was marked: it cancels it again and again."""
    states = {"first": {"monitor": state}}
    task = SimpleNamespace(dag_id="flight_delays", task_id="monitor", run_id="first")
    monkeypatch.setattr(MonitorTrigger, "task_instance", task)
    monkeypatch.setattr(
        stop_job.RuntimeTaskInstance, "get_task_states", staticmethod(lambda **_: states)
    )

    async def kill() -> None:
        trigger = MonitorTrigger(file=str(file), run="r", poll_s=1)
        ending = asyncio.create_task(trigger.on_kill())
        await asyncio.sleep(0.05)
        ending.cancel()
        with suppress(asyncio.CancelledError):
            await ending
        while stop_job._ending:
            await asyncio.sleep(0.05)

    asyncio.run(kill())


@pytest.mark.parametrize(("state", "job"), [("failed", "KILLED"), ("success", "RUNNING")])
def test_marked_failed_it_ends_the_job_however_often_airflow_cancels_it(
    cluster, pipelines, monkeypatch, state, job
):
    file = pipelines / "flight_delays.yml"
    asyncio.run(run_quietly(["submit", str(file), "--run", "r"]))
    killed(monkeypatch, file, state)
    assert cluster.drivers("flight_delays") == {"r": job}
