"""Ctrl-C and SIGTERM end every command within two seconds: no process left, no trace of a mistake.

Each test starts the real command, waits until it is at work, signals it, and looks for what is left
of it: processes by a mark in their environment, files in its folder.
"""

import signal
from pathlib import Path

import pytest

from infra.process import marked
from tests.commands.test_signals import (
    BLOCKING,
    WAITS,
    judge,
    names,
    start,  # noqa: F401 - a fixture
)
from tests.unit.slackwater.pipelines import written


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_on_spark(start, tmp_path: Path, number) -> None:
    pipeline, events = written(tmp_path)
    text = pipeline.read_text().replace("all: sum(v)", "all: 'python:blocking:Sleeps(v)'")
    pipeline.write_text(text)
    (tmp_path / "blocking.py").write_text(
        BLOCKING.replace("WAIT", WAITS["never lets go of the interpreter"])
    )
    output = tmp_path / "out.jsonl"
    running = start("run", pipeline, "--input", events, "--output", output, "--engine", "spark")
    running.await_((tmp_path / "at-work").exists)
    judge(running, number, "terminal", names(tmp_path))


def test_a_plan_on_a_stack_of_its_own(start, tmp_path: Path) -> None:
    plan = Path.cwd() / "chaos" / "plans" / "first.yml"
    state = tmp_path / "state"
    running = start("chaos", "run", plan, "--state-dir", state)
    running.await_(lambda: len(marked(state)) >= 2)
    judge(running, signal.SIGINT, "terminal", set())
    assert not marked(state)
