import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from infra import process, stack
from infra.errors import InfraError
from infra.layout import ROOT, STATE_DIR_VARIABLE, Layout
from infra.ports import pick
from infra.record import read


def test_a_full_disk_leaves_no_process_behind(layout: Layout) -> None:
    stack.up(only=["kafka"], layout=layout)
    stack.down(layout=layout)
    before = read(layout)
    (layout.state_dir / "stack.json.part").symlink_to("/dev/full")
    with pytest.raises(InfraError, match="no space left on device"):
        stack.up(only=["kafka"], layout=layout)
    assert process.marked(layout.state_dir) == []
    assert read(layout) == before


def test_the_life_of_a_broker(layout: Layout) -> None:
    news: list[str] = []

    def report(component: str, message: str, seconds: float) -> None:
        news.append(f"{component} {message}")

    taken = pick(19092)  # below the range of outgoing connections, which come and go
    with socket.create_server(("127.0.0.1", taken)):
        # The port of the last time has been taken by somebody else meanwhile.
        read(layout).promise({"kafka": taken, "kafka-controller": taken + 1000})
        bootstrap = stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap
    assert bootstrap != f"127.0.0.1:{taken}"
    first = stack.process_of("kafka", layout=layout)

    # A healthy broker is left alone.
    assert stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap == bootstrap
    assert stack.process_of("kafka", layout=layout) == first
    assert news == ["kafka healthy (started kafka)", "kafka healthy (was running)"]

    # A paused one is unwell, not dead.
    process.send(first, signal.SIGSTOP)
    # On a busy machine it goes on for a moment, and answers.
    while psutil.Process(first.pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.02)
    (paused,) = stack.status(layout=layout)
    assert (paused.state, paused.pid) == ("unwell", first.pid)
    process.send(first, signal.SIGCONT)

    # A killed one comes back on its port.
    process.send(first, signal.SIGKILL)
    while process.is_alive(first):
        time.sleep(0.02)
    assert stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap == bootstrap
    second = stack.process_of("kafka", layout=layout)
    assert second != first
    (healthy,) = stack.status(layout=layout)
    assert (healthy.state, healthy.pid) == ("healthy", second.pid)
    assert 100 << 20 < healthy.memory_bytes < 1 << 30

    assert stack.down(report, layout=layout) == 1
    assert not process.is_alive(second)
    assert process.marked(layout.state_dir) == []
    assert list((layout.kafka / "data").iterdir())  # the data stays


def test_an_interrupted_start_is_cleared_away(layout: Layout) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "infra", "up", "kafka"]
    environment = {**os.environ, STATE_DIR_VARIABLE: str(layout.state_dir)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as starting:
        while "kafka" not in read(layout).running:
            assert starting.poll() is None
            time.sleep(0.02)
        starting.kill()  # no chance to tidy up
    left = read(layout).running["kafka"].process
    assert process.is_alive(left)
    assert stack.down(layout=layout) == 1
    assert not process.is_alive(left)
    assert process.marked(layout.state_dir) == []
