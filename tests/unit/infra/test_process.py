"""Processes that outlive their starter, and locks that end with their holder."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pytest

from infra import process
from infra.errors import InfraError
from infra.locks import Locked, locked
from infra.process import ProcessId
from tests.unit.infra.conftest import Launch

SLEEPER = "print('ready', flush=True); import time; time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPER
PARENT = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {STUBBORN!r}])
import time; time.sleep(600)
"""


def test_a_process_is_known_again_and_stopped(launch: Launch) -> None:
    one = launch(SLEEPER)
    assert process.identify(one.pid) == one
    assert process.is_alive(one)
    process.stop([one], grace_s=5)
    assert not process.is_alive(one)
    assert not psutil.pid_exists(one.pid)  # reaped: no zombie is left


def test_another_process_with_the_same_pid_is_never_signalled(launch: Launch) -> None:
    now = launch(SLEEPER)
    before = ProcessId(now.pid, now.started - 1)  # whoever had the pid one clock tick earlier
    assert not process.is_alive(before)
    assert not process.send(before, signal.SIGKILL)
    process.stop([before], grace_s=0.1)
    assert process.is_alive(now)


def test_without_pidfd_the_identity_is_checked_too(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    now = launch(SLEEPER)
    assert not process.send(ProcessId(now.pid, now.started - 1), signal.SIGKILL)
    assert process.is_alive(now)
    assert process.send(now, signal.SIGKILL)


def test_a_process_that_ended_by_itself_is_dead_not_a_zombie(launch: Launch) -> None:
    one = launch(SLEEPER)
    os.kill(one.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while process.is_alive(one):
        assert time.monotonic() < until
    assert not process.send(one, signal.SIGTERM)


def test_offspring_that_ignores_sigterm_is_ended_too(launch: Launch) -> None:
    parent = launch(PARENT)
    (child,) = process.descendants([parent])
    process.stop([parent], grace_s=5)
    assert not process.is_alive(parent)
    assert not process.is_alive(child)


def test_an_orphan_is_found_by_its_mark(launch: Launch, tmp_path: Path) -> None:
    parent = launch(PARENT, **{process.MARK: str(tmp_path)})
    (child,) = process.descendants([parent])
    process.send(parent, signal.SIGKILL)
    assert child in process.marked(tmp_path)
    assert process.marked(tmp_path / "other") == []
    process.stop(process.marked(tmp_path), grace_s=0.1)
    assert not process.is_alive(child)


def test_a_daemon_has_its_own_session_and_no_input(launch: Launch) -> None:
    one = launch("import sys; assert sys.stdin.read() == ''; " + SLEEPER)
    assert os.getsid(one.pid) == one.pid


def test_the_log_of_the_run_before_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    for word in ("first", "second"):
        one = process.start(
            ["/bin/sh", "-c", f"echo {word}"], log=log, environment={}, cwd=tmp_path
        )
        while process.is_alive(one):
            time.sleep(0.01)
    assert log.read_text() == "second\n"
    assert (tmp_path / "a.log.1").read_text() == "first\n"


def test_a_command_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match=r"cannot start /no/such: No such file or directory"):
        process.start(["/no/such"], log=tmp_path / "a.log", environment={}, cwd=tmp_path)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of the system call")
def test_a_process_lives_until_its_last_thread_has_ended(launch: Launch) -> None:
    """A killed JVM looks like a zombie while other threads still hold its ports."""
    one = launch(
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('ready', flush=True)\n"
        # Ends the first thread only; it may not hold the interpreter's lock, which CDLL lets go.
        "ctypes.CDLL(None).syscall(60, 0)\n"
    )
    until = time.monotonic() + 5
    while psutil.Process(one.pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert process.is_alive(one)
    process.stop([one], grace_s=0.1)
    assert not process.is_alive(one)


HOLD = """
import sys
from pathlib import Path
from infra.locks import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["folder", "new/file"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / str(request.param)


def test_a_lock_is_waited_for(path: Path) -> None:
    waits, has_it = Event(), Event()

    def other() -> None:
        with locked(path, waits=waits.set):
            has_it.set()

    with ThreadPoolExecutor(1) as pool:
        with locked(path, waits=lambda: pytest.fail("nobody has it")):
            done = pool.submit(other)
            assert waits.wait(60.0)
            assert not has_it.is_set()
        done.result(60.0)
    assert has_it.is_set()


def test_a_wait_has_an_end(path: Path) -> None:
    with locked(path):
        with pytest.raises(Locked, match=path.name), locked(path, wait_s=0.0):
            pass
        with pytest.raises(Locked), locked(path, wait_s=0.0):
            pass  # whoever gave up has not let it go
    with locked(path, wait_s=0.0):
        pass


def test_a_lock_ends_with_its_process(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        with pytest.raises(Locked), locked(path, wait_s=0.0):
            pass
        holder.kill()
        holder.wait(60.0)
        with locked(path, wait_s=0.0):
            pass


def test_an_error_lets_a_lock_go(path: Path) -> None:
    with pytest.raises(ValueError, match="odd"), locked(path):
        raise ValueError("odd")
    with locked(path, wait_s=0.0):
        pass
