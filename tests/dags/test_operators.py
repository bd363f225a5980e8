"""Parts of operators without a DAG: names of runs, the command, which run is meant, heartbeats."""

from __future__ import annotations

import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException

from dags.entities import read_deployments, read_plans, run_name
from dags.operators import command
from dags.operators.choose_run import Choice, OnChange, Wish, YoungerRunError, choices
from dags.operators.command import Command, CommandError, CommandOutput, environment
from dags.operators.heartbeat import WriteHeartbeats
from dags.operators.job import Job, jobs_of, meant
from dags.operators.progress import Progress


def test_the_run_of_a_dag_run_is_stable_over_retries_and_new_after_a_clear():
    run_id = "manual__2026-11-21T09:21:00+00:00_aB3"
    assert run_name(run_id, 0) == run_name(run_id, 0)
    assert len({run_name(run_id, clears) for clears in range(5)}) == 5


@pytest.mark.parametrize("run_id", ["a/../b", "../../etc", "ä ö", "", "x" * 500, "a:b", "a+b", "."])
def test_every_run_id_gives_a_name_fit_for_a_file_and_its_own(run_id):
    name = run_name(run_id, 0)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}", name)
    assert name != run_name(run_id + "?", 0)


def command_of(monkeypatch, code: str) -> tuple[Command, list[str]]:
    monkeypatch.setenv("SLACKWATER_COMMAND", f"/bin/sh -c {shlex.quote(code)}")
    said: list[str] = []
    return Command(["validate"], said.append), said


def test_a_failing_command_gives_its_last_sentence_and_its_code(monkeypatch):
    call, said = command_of(
        monkeypatch, "echo out; echo first >&2; printf '\\033[31mlast\\n' >&2; exit 3"
    )
    with pytest.raises(CommandError, match=r"^last$") as caught:
        call.run()
    assert caught.value.exit_code == 3
    assert {"out", "first", "last"} <= set(said)


def test_a_complaint_of_several_lines_is_shown_whole(monkeypatch):
    call, _ = command_of(
        monkeypatch, "echo looking >&2; printf 'error: no:\\n  do this\\n' >&2; exit 2"
    )
    with pytest.raises(CommandError) as caught:
        call.run()
    assert str(caught.value) == "no:\n  do this"
    assert caught.value.output.stderr == ("looking", "error: no:", "  do this")


def test_a_command_that_is_not_installed_says_what_to_do(monkeypatch):
    monkeypatch.setenv("SLACKWATER_COMMAND", "/nowhere/slackwater")
    with pytest.raises(CommandError, match=r"/nowhere/slackwater cannot be started .*make setup"):
        Command(["validate"], print).run()


def test_much_output_on_both_pipes_does_not_stop_the_command(monkeypatch):
    call, said = command_of(monkeypatch, "yes out | head -50000; yes err | head -50000 >&2")
    call.run()
    assert len(said) == 100_001


def test_output_arrives_while_the_command_runs_and_stop_ends_all_of_it(monkeypatch):
    import os
    import threading

    call, said = command_of(monkeypatch, "echo $$; sleep 60 & wait")
    failed: list[CommandError] = []

    def run() -> None:
        try:
            call.run()
        except CommandError as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while len(said) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    group = int(said[1])
    assert os.getpgid(group) == group
    call.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert "SIGTERM" in str(failed[0])
    alive = [
        process.pid
        for process in psutil.process_iter()
        if process.status() != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == group
    ]
    assert alive == []


def test_the_command_does_not_see_airflows_secrets(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "x")
    assert not [name for name in environment() if "AIRFLOW" in name]


@pytest.mark.parametrize(
    ("done", "state", "failed"),
    [(True, "FAILED", False), (False, "FAILED", True), (False, "RELAUNCHING", False)],
)
def test_what_counts_is_the_progress_then_the_state(done, state, failed):
    assert Progress(done=done, state=state, behind=1).failed is failed


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def job(run: str, state: str = "running", *, live: bool = True, hour: int = 11) -> Job:
    at = NOON.replace(hour=hour).isoformat()
    return Job(run=run, state=state, why=None, live=live, submitted_at=at)


def wish(**what) -> Wish:
    usual = {
        "named": None,
        "first": "first",
        "fresh": "fresh",
        "begin_at": None,
        "on_change": OnChange.refuse,
        "cleared": False,
        "since": NOON,
    }
    return Wish(**usual | what)


def test_the_first_run_is_new():
    assert choices(wish(), []) == [Choice("first")]
    assert choices(wish(begin_at="2026-01-01"), []) == [Choice("first", ("--from", "2026-01-01"))]


@pytest.mark.parametrize("state", ["running", "waiting", "restarting", "stopped", "failed"])
def test_without_a_name_the_live_run_goes_on(state):
    jobs = [job("new", "running", live=False, hour=12), job("old", state)]
    assert choices(wish(), jobs) == [Choice("old")]


def test_without_a_live_run_the_newest_goes_on():
    jobs = [job("old", "stopped", live=False, hour=9), job("new", "stopped", live=False, hour=10)]
    assert choices(wish(), jobs) == [Choice("new")]


@pytest.mark.parametrize(
    ("on_change", "option"), [("new_run", "--replace"), ("beside", "--beside")]
)
def test_only_if_the_file_does_not_go_on_a_new_run_is_begun_as_was_chosen(on_change, option):
    wanted = wish(on_change=OnChange(on_change), begin_at="old")
    ways = [Choice("old"), Choice("fresh", (option, "--from", "old"))]
    assert choices(wanted, [job("old")]) == ways


def test_a_named_run_ends_another_only_where_that_was_chosen():
    jobs = [job("old")]
    assert choices(wish(named="blue"), jobs) == [Choice("blue")]  # and is refused by the command
    replacing = wish(named="blue", on_change=OnChange.new_run)
    assert choices(replacing, jobs) == [Choice("blue", ("--replace",))]
    assert choices(wish(named="old", on_change=OnChange.new_run), jobs) == [Choice("old")]


@pytest.mark.parametrize("on_change", list(OnChange))
def test_a_cleared_dag_run_never_ends_a_younger_job(on_change):
    younger = job("younger", hour=13)
    cleared = wish(cleared=True, on_change=on_change)
    assert choices(cleared, [younger, job("old", "superseded", live=False)]) == [Choice("younger")]
    with pytest.raises(YoungerRunError, match="run younger was submitted at 2026-11-22T13:00"):
        choices(wish(cleared=True, on_change=on_change, named="old"), [younger])


def test_a_cleared_dag_run_may_still_end_an_older_job():
    wanted = wish(cleared=True, on_change=OnChange.new_run, named="blue")
    assert choices(wanted, [job("old", hour=11)]) == [Choice("blue", ("--replace",))]


@pytest.mark.parametrize(
    ("state", "why", "on_purpose", "dead"),
    [
        ("running", None, False, False),
        ("restarting", "died 1 of 3 times", False, False),
        ("stopping", "its driver has been told to end", False, False),
        ("stopped", None, True, False),
        ("stopped", "the cluster was stopped under it", False, True),
        ("superseded", "run b has taken its place", True, False),
        ("finished", None, True, False),
        ("failed", "disk full", False, True),
    ],
)
def test_what_has_ended_on_purpose_is_not_dead(state, why, on_purpose, dead):
    seen = Job(run="r", state=state, why=why, live=True, submitted_at=NOON.isoformat())
    assert (seen.on_purpose, seen.dead) == (on_purpose, dead)
    assert seen.ended is (on_purpose or dead)


def test_an_answer_that_is_none_is_said_to_be_none():
    with pytest.raises(CommandError, match="printed no run but 'oops'"):
        jobs_of(CommandOutput(("oops",), ()))
    assert jobs_of(CommandOutput((), ())) == []
    assert meant([]) is None


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


TEMPLATE = Path(__file__).parents[2] / "slackwater" / "template"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("pipelines", "plans"):
        (tmp_path / name).symlink_to(TEMPLATE / name)
        monkeypatch.setenv(f"SLACKWATER_{name.upper()}", str(tmp_path / name))
    monkeypatch.setenv("SLACKWATER_PROJECT", str(tmp_path))
    monkeypatch.setenv("SLACKWATER_ROOT", str(TEMPLATE.parents[1]))
    monkeypatch.delenv("SLACKWATER_COMMAND", raising=False)
    return tmp_path


def test_its_pipelines_are_dags(project: Path) -> None:
    found, broken = read_deployments(command.project_root(), command.pipelines_folder().absolute())
    assert not broken
    assert [one.name for one in found] == ["orders"]
    assert (project / found[0].file).is_file() or Path(found[0].file).is_file()


def test_its_plans_are_the_nightly_ones(project: Path) -> None:
    (plan,) = read_plans(command.project_root())
    assert plan == "plans/crash.yml"


def test_tasks_call_the_checkouts_command_in_it(project: Path) -> None:
    (line, *_) = command.command_line(["validate", "pipelines/orders.yml"])
    assert line == str(TEMPLATE.parents[1] / ".venv" / "bin" / "slackwater")
    assert command.project_root() == project


def test_the_command_of_an_installed_package_goes_before(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_COMMAND", "'/opt/my env/bin/slackwater'")
    assert command.command_line(["up"]) == ["/opt/my env/bin/slackwater", "up"]
