"""Commands as a user starts them: interrupted, in little memory, and as the first page has them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.process import marked
from tests import pages
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


PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: ms}
  fields: {k: string, x: float}
  disorder: {slack: 1 s}
queries:
  slides:
    window: RANGE 4 s SLIDE 2 s WATTR ts
    group_by: [k]
    aggregates: {n: count, sum: sum(x)}
"""

# The largest memory of all processes that it has waited for, in KiB.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_mib(folder: Path, records: int) -> float:
    """Verify the right output of a log of this length; return the peak memory in MiB."""
    pipeline, log, output = (folder / name for name in ("p.yml", "events.jsonl", "out.jsonl"))
    pipeline.write_text(PIPELINE)
    with log.open("w") as file:
        for at in range(records):
            value = {"ts": at, "k": f"user-{at % 97}", "x": at / 8}
            event = {"source": "s", "partition": at % 2, "offset": at, "value": value}
            file.write(json.dumps(event) + "\n")
    slackwater = (sys.executable, "-m", "slackwater")
    subprocess.run([*slackwater, "run", pipeline, "--input", log, "--output", output], check=True)
    verify = (*slackwater, "verify", pipeline, "--input", log, "--output", output)
    options = ("--memory", "64MB", "--jobs", "1")
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, *verify, *options],
        check=True,
        capture_output=True,
        text=True,
    )
    *said, kib = measured.stdout.splitlines()
    assert said[-1] == "lost 0, duplicated 0, differing 0"
    return int(kib) / 1024


def test_four_times_the_log_takes_little_more_memory(tmp_path: Path) -> None:
    # Kept in memory, a record takes 1 KiB and more: 36,000 of them 36 MiB.
    short, long = peak_mib(tmp_path, 12_000), peak_mib(tmp_path, 48_000)
    assert long - short < 18


LOCAL_S = 300


def test_the_local_part_of_the_page_runs_as_written(tmp_path: Path) -> None:
    blocks = pages.blocks("first-pipeline.md")
    local = [block for block in blocks if block.heading[0].isdigit()]
    assert len(local) == 9
    pages.check(pages.run(local, tmp_path, LOCAL_S))
    assert not (tmp_path / "shop" / ".slackwater" / "stack.json").exists()
