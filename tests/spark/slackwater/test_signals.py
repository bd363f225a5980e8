"""Ctrl-C and SIGTERM end every command within two seconds: no process left, no trace of a mistake.

Each test starts the real command, waits until it is at work, signals it, and looks for what is left
of it: processes by a mark in their environment, files in its folder.
"""

import signal
from pathlib import Path

import psutil

from tests.commands.test_signals import (
    judge,
    names,
    start,  # noqa: F401 - a fixture
)
from tests.unit.slackwater.pipelines import written


def test_a_session_that_is_only_starting(start, tmp_path: Path) -> None:
    pipeline, events = written(tmp_path)
    output = tmp_path / "out.jsonl"
    running = start("run", pipeline, "--input", events, "--output", output, "--engine", "spark")
    running.await_(lambda: any(is_java(one) for one in running.family()))
    judge(running, signal.SIGINT, "terminal", names(tmp_path))


def is_java(process: psutil.Process) -> bool:
    try:
        return process.name() == "java"
    except psutil.NoSuchProcess:  # a short one, on the way to it
        return False
