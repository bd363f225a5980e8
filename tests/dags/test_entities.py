"""Names of runs, and the command runner, without a DAG."""

import re
import shlex
import time

import psutil
import pytest

from dags.entities import run_name
from dags.operators.command import Command, CommandError, environment
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


def command(monkeypatch, code: str) -> tuple[Command, list[str]]:
    monkeypatch.setenv("SLACKWATER_COMMAND", f"/bin/sh -c {shlex.quote(code)}")
    said: list[str] = []
    return Command(["validate"], said.append), said


def test_a_failing_command_gives_its_last_sentence_and_its_code(monkeypatch):
    call, said = command(
        monkeypatch, "echo out; echo first >&2; printf '\\033[31mlast\\n' >&2; exit 3"
    )
    with pytest.raises(CommandError, match=r"^last$") as caught:
        call.run()
    assert caught.value.exit_code == 3
    assert {"out", "first", "last"} <= set(said)


def test_a_complaint_of_several_lines_is_shown_whole(monkeypatch):
    call, _ = command(
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
    call, said = command(monkeypatch, "yes out | head -50000; yes err | head -50000 >&2")
    call.run()
    assert len(said) == 100_001


def test_output_arrives_while_the_command_runs_and_stop_ends_all_of_it(monkeypatch):
    import os
    import threading

    call, said = command(monkeypatch, "echo $$; sleep 60 & wait")
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
