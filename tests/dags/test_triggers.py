"""Triggers: what they make of each answer, asked without a DAG around them."""

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from dags.operators import await_progress, monitor, stop_job
from dags.operators.await_progress import ProgressTrigger
from dags.operators.check_again import DueTrigger
from dags.operators.command import run_quietly
from dags.operators.monitor import MonitorTrigger

UNTIL = {"0": 100}


def progress(behind: int, state: str = "RUNNING", **more: object) -> dict:
    return {"done": behind == 0, "behind": behind, "state": state, "lanes": {}} | more


def waited(seconds: float = 60) -> dict:
    """What the trigger says in the end, made again from what Airflow stores of it."""
    first = ProgressTrigger(
        file="p.yml", run="r", until=UNTIL, deadline_s=time.time() + seconds, poll_s=0.01
    )
    path, stored = first.serialize()
    assert path == "dags.operators.await_progress.ProgressTrigger"

    async def events() -> list[dict]:
        return [one.payload async for one in ProgressTrigger(**stored).run()]

    (only,) = asyncio.run(events())
    return only


def test_it_asks_until_the_target_is_passed(cluster):
    cluster.script(answers=[progress(90), progress(50), progress(0)])
    end = waited()
    assert end["problem"] is None
    assert end["progress"]["done"] is True
    wanted = ["progress", "p.yml", "--run", "r", "--json", "--until", '{"0": 100}']
    assert [call["arguments"] for call in cluster.calls()] == [wanted] * 3


def test_an_end_seen_with_older_offsets_is_asked_again(cluster):
    cluster.script(answers=[progress(90, "FINISHED"), progress(0, "FINISHED")])
    assert waited()["problem"] is None


def test_a_relaunched_driver_is_waited_for(cluster):
    cluster.script(answers=[progress(9, "FAILED"), progress(9, "RELAUNCHING"), progress(0)])
    assert waited()["problem"] is None


def test_a_failed_job_is_reported_with_its_state_target_and_log(cluster):
    cluster.script(answers=[progress(90, "FAILED", why="disk full", log="work-1/driver-7/stderr")])
    assert waited()["problem"] == (
        'the job is FAILED, 90 offsets before the target {"0": 100}: disk full; '
        "the driver's log is work-1/driver-7/stderr"
    )
    assert len(cluster.calls()) == 2


def test_an_outage_of_the_broker_is_borne(cluster):
    cluster.script(answers=[1, progress(50), 1, 1, progress(0)])
    assert waited()["problem"] is None


def test_an_outage_without_end_is_reported_in_the_commands_words(cluster, monkeypatch):
    monkeypatch.setattr(await_progress, "time", cluster.clock(await_progress.PATIENCE_S / 2))
    cluster.script(answers=[progress(50), 1])
    assert waited()["problem"] == "the broker is away (exit code 1)"
    assert len(cluster.calls()) == 1 + 3  # borne twice, then reported


def test_a_usage_error_does_not_get_better_by_asking(cluster):
    cluster.script(answers=[2])
    assert waited()["problem"] == "the broker is away (exit code 2)"
    assert len(cluster.calls()) == 1


def test_time_is_up_at_the_deadline(cluster):
    cluster.script(answers=[progress(50)])
    assert waited(seconds=0.5)["problem"].startswith("time is up: the job is RUNNING, 50 offsets")


def test_a_cancelled_wait_leaves_no_command_behind(monkeypatch):
    import psutil

    monkeypatch.setenv("SLACKWATER_COMMAND", "/bin/sleep")
    before = {process.pid for process in psutil.Process().children()}

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_quietly(["61.25"]), 0.5)

    asyncio.run(cancelled())
    left = [p for p in psutil.Process().children() if p.pid not in before]
    assert [p for p in left if p.status() != psutil.STATUS_ZOMBIE] == []


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
