"""The wait itself: what it makes of each answer, asked without a DAG around it."""

import asyncio
import time

import pytest

from dags.operators import await_progress
from dags.operators.await_progress import ProgressTrigger
from dags.operators.command import run_quietly

UNTIL = {"0": 100}


def answer(behind: int, state: str = "RUNNING", **more: object) -> dict:
    return {"done": behind == 0, "behind": behind, "state": state, "lanes": {}} | more


def event(seconds: float = 60) -> dict:
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
    cluster.script(answers=[answer(90), answer(50), answer(0)])
    end = event()
    assert end["problem"] is None
    assert end["progress"]["done"] is True
    wanted = ["progress", "p.yml", "--run", "r", "--json", "--until", '{"0": 100}']
    assert [call["arguments"] for call in cluster.calls()] == [wanted] * 3


def test_an_end_seen_with_older_offsets_is_asked_again(cluster):
    cluster.script(answers=[answer(90, "FINISHED"), answer(0, "FINISHED")])
    assert event()["problem"] is None


def test_a_relaunched_driver_is_waited_for(cluster):
    cluster.script(answers=[answer(9, "FAILED"), answer(9, "RELAUNCHING"), answer(0)])
    assert event()["problem"] is None


def test_a_failed_job_is_reported_with_its_state_target_and_log(cluster):
    cluster.script(answers=[answer(90, "FAILED", why="disk full", log="work-1/driver-7/stderr")])
    assert event()["problem"] == (
        'the job is FAILED, 90 offsets before the target {"0": 100}: disk full; '
        "the driver's log is work-1/driver-7/stderr"
    )
    assert len(cluster.calls()) == 2


def test_an_outage_of_the_broker_is_borne(cluster):
    cluster.script(answers=[1, answer(50), 1, 1, answer(0)])
    assert event()["problem"] is None


def test_an_outage_without_end_is_reported_in_the_commands_words(cluster, monkeypatch):
    monkeypatch.setattr(await_progress, "time", cluster.clock(await_progress.PATIENCE_S / 2))
    cluster.script(answers=[answer(50), 1])
    assert event()["problem"] == "the broker is away (exit code 1)"
    assert len(cluster.calls()) == 1 + 3  # borne twice, then reported


def test_a_usage_error_does_not_get_better_by_asking(cluster):
    cluster.script(answers=[2])
    assert event()["problem"] == "the broker is away (exit code 2)"
    assert len(cluster.calls()) == 1


def test_time_is_up_at_the_deadline(cluster):
    cluster.script(answers=[answer(50)])
    assert event(seconds=0.5)["problem"].startswith("time is up: the job is RUNNING, 50 offsets")


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
