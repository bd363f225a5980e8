"""A run on a real stack whose topic somebody hostile writes to: it goes on, and is verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from infra import stack
from jobs.brokers.producing import send_all
from jobs.runs.folder import read_run
from tests.night.spark.test_change import PIPELINE, file, overview, send, slackwater, through
from tests.night.spark.test_changed_while_it_runs import until

__all__ = ["file"]

WINDOW = "RANGE 10 us SLIDE 10 us WATTR ts"
MORE = f"queries:\n  more: {{window: {WINDOW}, aggregates: {{n: count}}, from: FROM}}\n"
TRACE = 'from pathlib import Path\nPath(__file__).with_name("imported").touch()\n'


def added(name: str, **more: Any) -> Any:
    query = {"window": WINDOW, "aggregates": {"n": "count"}, "from": 5_000, **more}
    return {"queries": {"add": {name: query}}}


HOSTILE = [
    added("code", aggregates={"n": "python:hostile_module:Class(v)"}),
    added("wide", window="RANGE 1000000 us SLIDE 1 us WATTR ts"),
    {"queries": {"add": {f"q{n}": added("x")["queries"]["add"]["x"] for n in range(2_000)}}},
    {"queries": {"remove": {"nobody": 1}}},
    {"queries": [[[]]]},
    "no control record",
]


def write(*controls: Any, lanes: tuple[int, ...] = (0, 1)) -> None:
    bootstrap = stack.endpoints(only=["kafka"]).kafka_bootstrap
    rows = [(lane, b"", json.dumps(control)) for control in controls for lane in lanes]
    send_all(bootstrap, "s", rows)


@pytest.mark.timeout(1_500)
def test_a_run_goes_on_whatever_its_log_says(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.with_name("hostile_module.py").write_text(TRACE)
    monkeypatch.setenv("PYTHONPATH", str(file.parent))
    file.write_text(PIPELINE)
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")

    # The rule that a file has by default takes no changes; the command gives the run another.
    more = file.with_name("more.yml")
    more.write_text(MORE.replace("FROM", "1970-01-01T00:00:00.000400Z"))
    said = slackwater("queries", "add", file, more)
    assert "believes no changes of its queries (source.control: bounds)" in said
    assert "write control: all under source" in said
    assert "run r1 goes on with it" in said

    # What is hostile is refused; what lanes say differently has no rows.
    write(*HOSTILE)
    write(added("two", **{"from": 600}), lanes=(1,))
    send(300, 400)
    through(file, "r1")
    write(added("two", **{"from": 700}), lanes=(0,))
    send(400, 550)
    through(file, "r1")
    until(lambda: "two: no rows" in slackwater("queries", "list", file))
    assert not file.with_name("imported").exists()

    # A change that what is around the log forbids ends the job; without it, the run goes on.
    run = read_run(file.parent / "state" / "runs" / "p" / "r1")
    pl.DataFrame({"values": [{"n": "text"}]}).write_delta(str(run.table / "taken"))
    write(added("taken"))
    until(lambda: overview(file)["r1"]["state"] == "failed")
    assert "taken" in overview(file)["r1"]["why"]
    assert "cannot be forgotten" in slackwater("queries", "forget", file, "more", code=1)
    slackwater("queries", "forget", file, "taken")
    slackwater("start", file, "--run", "r1")
    send(550, 800)
    through(file, "r1")

    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file, "--run", "r1")
    dead = pl.read_delta(str(run.table / "dead_letters"))
    reasons = dict(dead.group_by("reason").len().iter_rows())
    assert reasons["not_allowed"] == 2 * 3 + 1 + 2
    assert reasons["malformed"] == 2 * 2
    assert reasons["change_too_late"] == 2
    rows = pl.read_delta(str(run.table / "more"))
    assert len(rows) > 10
