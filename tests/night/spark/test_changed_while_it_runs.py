"""Queries join and leave a job on a real stack, whose parts are killed while it takes a change."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos import faults
from chaos.readers.delta import read_tables
from infra.layout import Layout
from jobs.runs.folder import Run, read_run
from jobs.runs.owner import OWNER_FILE
from tests.night.spark.test_change import PATIENCE_S, file, send, slackwater, through

__all__ = ["file"]

HEAD = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: int, v: int}, disorder: {slack: 5 us}, control: all}
sink: {table: p, layout: one}
late: {policy: update, every: 20 us}
retention: 100 us
shards: 2
queries:
"""
QUERY = "  {}: {{window: RANGE {} us SLIDE 10 us WATTR ts, aggregates: {{n: count}}{}}}\n"
# As many as share slices.
ALIKE = HEAD + "".join(QUERY.format(f"q{place:02}", 10 * place, "") for place in range(1, 34))
JOINING = "queries:\n" + "".join(
    # The second begins within slices, and is alone.
    QUERY.format(name, length, ", from: 1970-01-01T00:00:00.000400Z")
    for name, length in (("shares", 50), ("alone", 25))
)
EARLY = "queries:\n" + QUERY.format("early", 10, ", from: 1970-01-01T00:00:00.000050Z")
FINISHED = "a change of the queries that was interrupted is done"


def until(condition: Callable[[], object], pause_s: float = 0.2) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(pause_s)


def driver_of(run: Run) -> int:
    """The process that runs the job's Python."""
    return int(json.loads((run.folder / OWNER_FILE).read_text())["pid"])


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def drivers_said(state: Path) -> str:
    logs = [path for path in state.rglob("driver-*/std*") if path.is_file()]
    return "".join(path.read_text(errors="replace") for path in logs)


class SlowRenames:
    """Renames of a process that take seconds, so that it can be killed between two of them."""

    def __init__(self, pid: int) -> None:
        words = ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(pid)]
        slow = ["-e", "trace=rename,renameat,renameat2"]
        slow += ["-e", "inject=rename,renameat,renameat2:delay_exit=3000000"]
        self._process = subprocess.Popen([*words, *slow])

    def __enter__(self) -> None:
        time.sleep(1)
        assert self._process.poll() is None, "strace may not attach"

    def __exit__(self, *error: object) -> None:
        # Nothing else ends it while a process that it delays is killed.
        self._process.kill()
        self._process.wait()


@pytest.mark.timeout(1_800)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace slows renames down")
def test_queries_join_and_leave_while_parts_are_killed(file: Path) -> None:
    file.write_text(ALIKE)
    layout = Layout(file.parent / "state")
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    run = read_run(file.parent / "state" / "runs" / "p" / "r1")

    # An executor dies while two queries join.
    more = file.with_name("more.yml")
    more.write_text(JOINING)
    assert "windows from" in slackwater("queries", "add", file, more, "--no-wait")
    faults.kill_executor(layout)
    until(lambda: "shares: from" in slackwater("queries", "list", file))
    send(300, 500)
    through(file, "r1")

    # The driver dies between two of the steps by which the new state takes its place.
    ready = run.checkpoint.with_name("converted")
    pid = driver_of(run)
    with SlowRenames(pid):
        slackwater("queries", "remove", file, "q05", "--until", "700 us", "--no-wait")
        until(ready.exists, 0.001)
        kill(pid)
    assert ready.exists()
    assert FINISHED not in drivers_said(file.parent)
    until(lambda: "q05: until" in slackwater("queries", "list", file))
    send(500, 900)
    through(file, "r1")
    assert FINISHED in drivers_said(file.parent)
    assert not ready.exists()

    # And as soon as it has begun to write the new state.
    pid = driver_of(run)
    slackwater("queries", "remove", file, "alone", "--until", "1000 us", "--no-wait")
    until(run.checkpoint.with_name(".converted.new").exists, 0.001)
    kill(pid)
    until(lambda: "until 1970-01-01T00:00:00.001" in slackwater("queries", "list", file))

    # What comes too late changes nothing.
    late = file.with_name("late.yml")
    late.write_text(EARLY)
    assert "did not take the change" in slackwater("queries", "add", file, late, code=1)
    send(900, 1300)
    through(file, "r1")

    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file, "--run", "r1")
    ends = last_ends(read_run(run.folder))
    assert ends["q05"] == 700
    assert ends["alone"] <= 1000
    assert ends["shares"] == ends["q01"] > 1200
    assert "early" not in ends


def last_ends(run: Run) -> dict[str, int]:
    """The end of the last window of each query, in microseconds."""
    found: dict[str, int] = {}
    for _, text in read_tables(run.table, run.own_pipeline(), run.run).rows:
        row = json.loads(text)
        found[row["query"]] = max(found.get(row["query"], 0), row["window_end"])
    return found
