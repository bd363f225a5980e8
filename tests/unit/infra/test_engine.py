"""The Docker engine: what is said where there is none, and who is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.containers import engine
from infra.errors import InfraError
from infra.layout import Layout
from infra.ports import free_port


@pytest.fixture
def nobody_there(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address at which no engine answers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setenv("DOCKER_HOST", address)
    return address


def test_an_engine_that_is_named_and_does_not_answer_is_not_replaced(
    nobody_there: str, tmp_path: Path
) -> None:
    lines: list[str] = []
    assert engine.complaint().startswith(f"no Docker engine answers at {nobody_there} (")
    with pytest.raises(InfraError, match=f"DOCKER_HOST names {nobody_there}; start that one"):
        engine.bring_up(lines.append, Layout(tmp_path))
    assert lines == []
    assert list(tmp_path.iterdir()) == []


def test_only_root_starts_one(nobody_there: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why = engine.complaint()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert engine._refusal(why).startswith("that takes root")


def test_a_process_that_has_got_the_pid_of_ours_is_not_stopped(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert not engine.take_down(layout)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        pid_file = engine._pid_file(layout)
        pid_file.parent.mkdir(parents=True)
        pid_file.write_text(str(other.pid))
        assert not engine.take_down(layout)
        assert other.poll() is None
        other.kill()


def test_the_engine_that_was_started_with_the_pid_file_is_stopped(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    pid_file = engine._pid_file(layout)
    pid_file.parent.mkdir(parents=True)
    # Stands for dockerd: what matters is the file on its command line.
    command = [sys.executable, "-c", "import time; time.sleep(60)", "--pidfile", str(pid_file)]
    with subprocess.Popen(command) as ours:
        pid_file.write_text(str(ours.pid))
        until = time.monotonic() + 10
        while not engine._ours(layout):  # it must have become the command first
            assert time.monotonic() < until
            time.sleep(0.02)
        assert engine.take_down(layout)
        assert ours.wait(10) != 0


def test_one_that_has_ended_and_is_not_yet_waited_for_does_not_run(tmp_path: Path) -> None:
    def seen() -> bool:
        return ours.pid in {process.pid for process in engine._running()}

    program = tmp_path / "dockerd"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as ours:
        assert ours.stdin is not None
        until = time.monotonic() + 10
        while not seen():  # it must have become the command first
            assert time.monotonic() < until
            time.sleep(0.02)
        ours.stdin.close()
        os.waitid(os.P_PID, ours.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert not seen()
