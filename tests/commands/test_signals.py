"""Ctrl-C and SIGTERM end every command within two seconds: no process left, no trace of a mistake.

Each test starts the real command, waits until it is at work, signals it, and looks for what is left
of it: processes by a mark in their environment, files in its folder.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from slackwater import ending
from tests.bounds import slowness
from tests.unit.slackwater.pipelines import event, written

MARK = "SLACKWATER_TEST_MARK"
WITHIN_S = 2.0
# Starting interpreters and JVMs takes longest where others are at work.
PATIENCE_S = 240.0

BLOCKING = """
import signal, time

class Sleeps:
    returns = "int"
    def init(self): return 0
    def update(self, state, value: int):
        open("at-work", "w").close()
        WAIT
    def merge(self, left, right): return left + right
    def result(self, state): return state
"""
WAITS = {
    "sleeps": "time.sleep(1000)",
    "catches everything": """
        while True:
            try: time.sleep(1000)
            except BaseException: pass
""",
    "never lets go of the interpreter": "sum(range(10**13))",
    "ignores signals": """
        signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(1000)
""",
}


@dataclass
class Running:
    process: subprocess.Popen[str]
    mark: str
    folder: Path

    def family(self) -> list[psutil.Process]:
        """All processes that the command or what it started has started."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(MARK) == self.mark
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.Error, OSError):
                continue  # it has ended meanwhile, or is not ours
        return found

    def await_(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until, "it never came to work"
            time.sleep(0.02)

    def end(self, number: signal.Signals, whom: str) -> tuple[float, str, str]:
        """Signal it; gives how long it took to end, and what it said."""
        began = time.monotonic()
        if whom == "terminal":
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        out, said = self.process.communicate(timeout=PATIENCE_S)
        return time.monotonic() - began, out, said


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(*arguments: object) -> Running:
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            [sys.executable, "-m", "slackwater.main", *map(str, arguments)],
            cwd=tmp_path,
            env={
                **os.environ,
                MARK: mark,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path.cwd())]),
                "SLACKWATER_STATE_DIR": str(tmp_path / "state"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running.append(Running(process, mark, tmp_path))
        return running[-1]

    yield begin
    for one in running:
        for process in one.family():
            process.kill()
        one.process.communicate(timeout=PATIENCE_S)


SIGNALS = pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGINT, "terminal"),
        (signal.SIGINT, "command"),
        (signal.SIGTERM, "command"),
        (signal.SIGTERM, "terminal"),
    ],
    ids=["Ctrl-C", "SIGINT", "SIGTERM", "SIGTERM to its group"],
)


def judge(running: Running, number: signal.Signals, whom: str, before: set[str]) -> str:
    slow = slowness(time.monotonic)
    took_s, _, said = running.end(number, whom)
    assert running.process.returncode == 128 + number, said
    assert "Traceback" not in said, said
    assert took_s < WITHIN_S * slow, f"{took_s:.2f} s: {said}"
    assert not running.family()
    left = {path.name for path in running.folder.iterdir()} - before
    assert not {name for name in left if "out" in name or "partial" in name}, left
    return said


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@SIGNALS
def test_simulated_runs_in_several_processes(start, number, whom, tmp_path: Path) -> None:
    running = start("chaos", "simulate", "--runs", 100_000, "--jobs", 2)
    running.await_(lambda: len(running.family()) >= 5)  # two of ours, two workers, their tracker
    judge(running, number, whom, set())


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_users_class_that_blocks(start, tmp_path: Path, wait: str, number) -> None:
    pipeline, events = written(tmp_path)
    text = pipeline.read_text().replace("all: sum(v)", "all: 'python:blocking:Sleeps(v)'")
    pipeline.write_text(text)
    (tmp_path / "blocking.py").write_text(BLOCKING.replace("WAIT", WAITS[wait]))
    running = start("run", pipeline, "--input", events, "--output", tmp_path / "out.jsonl")
    running.await_((tmp_path / "at-work").exists)
    judge(running, number, "terminal", names(tmp_path))


def long_log(folder: Path, name: str = "events.jsonl") -> Path:
    file = folder / name
    with file.open("w") as out:
        for offset in range(200_000):
            value = {"ts": 7 * offset, "k": "a", "v": 1}
            out.write(event(offset % 2, offset, value) + "\n")
    return file


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--batch-rows", "100", "--output", "out.jsonl"],
        ["verify", "--output", "rows.jsonl"],
        ["tune", "--png", "out.png"],
        ["trace", "--output", "out.jsonl"],
        ["punctuate", "--every", "1 us", "--output", "out.jsonl"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_over_a_file(start, tmp_path: Path, arguments: list[str]) -> None:
    pipeline, _ = written(tmp_path)
    events = long_log(tmp_path)
    for name in ("rows.jsonl", "rows.dead.jsonl"):
        (tmp_path / name).touch()
    before = names(tmp_path)
    running = start(arguments[0], pipeline, "--input", events, *arguments[1:])
    running.await_(lambda: len(running.family()) >= 2 and reads(running, events))
    judge(running, signal.SIGTERM, "command", before)


def reads(running: Running, file: Path) -> bool:
    for process in running.family():
        try:
            if str(file) in [opened.path for opened in process.open_files()]:
                return True
        except (psutil.Error, OSError):
            continue
    return False


@pytest.mark.parametrize("command", ["verify", "tune"])
def test_a_broker_that_takes_connections_and_says_nothing(
    start, tmp_path: Path, command: str
) -> None:
    pipeline, _ = written(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        more = ["--output", tmp_path / "rows.jsonl"] if command == "verify" else []
        for name in ("rows.jsonl", "rows.dead.jsonl"):
            (tmp_path / name).touch()
        running = start(command, pipeline, "--topic", "--bootstrap", address, *more)
        silent.settimeout(PATIENCE_S)
        with silent.accept()[0]:
            judge(running, signal.SIGTERM, "command", names(tmp_path))


def test_a_command_that_is_still_being_read(tmp_path: Path) -> None:
    for after_s in (0.1, 0.2, 0.3, 0.4, 0.5):
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "slackwater", "validate", "p.yml"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        before = b""
        while b"typer" not in before:  # a library is being imported
            line = process.stderr.readline()
            assert line, before
            before += line
        time.sleep(after_s / 10)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT, 2)  # 2: it was done
        assert b"Traceback" not in said, said


def test_what_a_dead_command_leaves_is_ended(start, tmp_path: Path) -> None:
    running = start("chaos", "simulate", "--runs", 100_000, "--jobs", 2)
    running.await_(lambda: len(running.family()) >= 5)
    (child,) = psutil.Process(running.process.pid).children()
    child.kill()
    running.process.communicate(timeout=PATIENCE_S)
    assert running.process.returncode == 128 + signal.SIGKILL
    assert not running.family()


def test_a_command_whose_keeper_is_killed_ends(start, tmp_path: Path) -> None:
    running = start("chaos", "simulate", "--runs", 100_000, "--jobs", 2)
    running.await_(lambda: len(running.family()) >= 5)
    running.process.kill()
    until = time.monotonic() + 10
    while running.family() and time.monotonic() < until:
        time.sleep(0.05)
    running.process.communicate()
    assert not running.family()


def test_daemons_in_their_own_session_are_left_alone(tmp_path: Path) -> None:
    script = (
        "import subprocess, time\n"
        "from slackwater.ending import supervised\n"
        "def work():\n"
        "    daemon = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "    helper = subprocess.Popen(['sleep', '1000'])\n"
        "    print(daemon.pid, helper.pid, flush=True)\n"
        "    time.sleep(1000)\n"
        "supervised(work)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        daemon, helper = map(int, process.stdout.readline().split())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
    assert psutil.pid_exists(daemon)
    psutil.Process(daemon).kill()
    assert not psutil.pid_exists(helper)


def test_libraries_that_are_interrupted_say_nothing() -> None:
    script = (
        "import os, time\n"
        "from slackwater.ending import supervised\n"
        "def work():\n"
        "    print('at work', flush=True)\n"
        "    try: time.sleep(1000)\n"
        "    finally: os.write(2, b'thread panicked: Traceback ...')\n"
        "supervised(work)\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert said == b"error: ended by SIGTERM\n"


def test_the_time_of_grace_fits() -> None:
    assert ending.GRACE_S < WITHIN_S
