"""Folders and processes of the infra tests; whatever a test starts is ended after it."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra import process, stack
from infra.layout import Layout
from infra.process import ProcessId


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """An empty state folder; its stack is stopped after the test."""
    layout = Layout(tmp_path / "state")
    yield layout
    (layout.state_dir / "stack.json.part").unlink(missing_ok=True)
    stack.down(layout=layout)


Launch = Callable[..., ProcessId]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts a Python program as a daemon and waits until it has said that it is ready."""
    started: list[ProcessId] = []

    def run(program: str, **environment: str) -> ProcessId:
        log = tmp_path / f"daemon-{len(started)}.log"
        one = process.start(
            [sys.executable, "-u", "-c", program], log=log, environment=environment, cwd=tmp_path
        )
        started.append(one)
        until = time.monotonic() + 20
        while "ready" not in log.read_text():
            assert process.is_alive(one), log.read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        return one

    yield run
    process.stop(started, grace_s=0.1)
