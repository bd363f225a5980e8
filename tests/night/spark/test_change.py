"""A changed file on a real stack: refused, worked out beside the old run, handed over, converted.

L1, L2, L3: an added aggregate, deployed as one does, ended the living job, overwrote what its next
restart would have run, and died without end on the tables' columns.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra import stack
from infra.layout import STATE_DIR_VARIABLE, Layout
from infra.spark_size import AT_ONCE_VARIABLE
from jobs.brokers.producing import send_all
from slackwater.main import app

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: int, v: int}, disorder: {slack: 5 us}}
late: {policy: update, every: 20 us}
retention: 100 us
shards: 2
queries:
  a: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
"""
MORE = PIPELINE.replace("{n: count}", "{n: count, s: sum(v)}")
PATIENCE_S = 400.0


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pipeline file, and a stack of Kafka and Spark of its own with room for two jobs."""
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv(AT_ONCE_VARIABLE, "2")
    layout = Layout(tmp_path / "state")
    path = tmp_path / "p.yml"
    path.write_text(PIPELINE)
    try:
        stack.up(only=["kafka", "spark"], layout=layout)
        yield path
    finally:
        stack.down(layout=layout)


def slackwater(*words: str | Path, code: int = 0) -> str:
    """What a command says, on both streams."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    # What a command raises, `main` makes an exit code and a sentence of.
    found = getattr(done.exception, "exit_code", done.exit_code)
    said = f"{done.output}{done.exception or ''}"
    assert (found or done.exit_code) == code, said
    return said


def overview(file: Path) -> dict[str, dict[str, Any]]:
    lines = slackwater("runs", file, "--json").splitlines()
    return {one["run"]: one for one in map(json.loads, lines)}


def through(file: Path, run: str) -> None:
    """Wait until a run has read what there is; that it is well is noted a moment later."""
    until_s = time.monotonic() + PATIENCE_S
    while (found := overview(file)[run])["behind"] != 0 or found["state"] != "running":
        assert found["state"] != "failed", found["why"]
        assert time.monotonic() < until_s, found
        time.sleep(1)


def send(first: int, end: int) -> None:
    """Records of these times, every seventh of them late, over both partitions."""
    bootstrap = stack.endpoints(only=["kafka"]).kafka_bootstrap
    for_ts = (ts - 40 * (ts % 7 == 0 and ts > 40) for ts in range(first, end))
    rows = [(ts % 2, json.dumps({"ts": ts, "k": ts % 3, "v": ts}).encode(), None) for ts in for_ts]
    send_all(bootstrap, "s", rows)


def test_a_change_from_its_refusal_to_the_hand_over(file: Path) -> None:
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "blue")
    through(file, "blue")
    copy = file.parent / "state" / "runs" / "p" / "blue" / "p.yml"

    file.write_text(MORE)
    for run in (["--run", "blue"], []):
        said = slackwater("submit", file, *run, code=2)
        assert "queries.a.aggregates.s: new, 'sum(v)'" in said
        assert f"slackwater submit {file} --run r1 --beside" in said
    assert copy.read_text() == PIPELINE
    assert overview(file)["blue"]["state"] == "running"

    said = slackwater("submit", file, "--run", "green", "--beside", "--dry-run")
    assert "it works beside run blue" in said
    assert "new column a.values.s (int)" in said
    assert [*overview(file)] == ["blue"]
    slackwater("submit", file, "--run", "green", "--beside")
    send(300, 400)  # the old job goes on in tables that have grown under it
    for run in ("blue", "green"):
        through(file, run)
    assert overview(file)["blue"]["live"]

    said = slackwater("handover", file, "--to", "green", "--within", str(PATIENCE_S))
    assert "of query a not compared: s" in said
    assert "0 of " in said
    found = overview(file)
    assert (found["green"]["live"], found["green"]["state"]) == (True, "running")
    assert (found["blue"]["live"], found["blue"]["state"]) == (False, "superseded")

    for run in ("blue", "green"):
        said = slackwater("verify", file, "--run", run)
        assert "lost 0, duplicated 0, differing 0" in said
    send(400, 450)
    through(file, "green")
    assert "differing 0" in slackwater("verify", file)
    assert "attach" not in slackwater("submit", file)


def test_a_changed_file_takes_over(file: Path) -> None:
    slackwater("topics", file)
    assert "has no run" in slackwater("migrate", file, code=2)
    send(0, 300)
    slackwater("submit", file)
    through(file, "r1")
    assert "means what its live run r1 runs" in slackwater("migrate", file, code=2)

    file.write_text(MORE)
    assert "works beside run r1" in slackwater("migrate", file, "--dry-run")
    assert [*overview(file)] == ["r1"]
    # Too short a time: the old run stays, and the next call goes on with the same new run.
    said = slackwater("migrate", file, "--within", "0", code=1)
    assert "offsets behind run r1" in said
    assert overview(file)["r1"]["live"]
    send(300, 400)
    said = slackwater("migrate", file)
    assert "run r2 is the live run" in said
    found = overview(file)
    assert sorted(found) == ["r1", "r2"]
    assert (found["r2"]["live"], found["r1"]["state"]) == (True, "superseded")
    through(file, "r2")
    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file)


def batches_of(file: Path) -> int:
    return int(overview(file)["r1"]["batches"])


def test_a_run_goes_on_in_its_tables(file: Path) -> None:
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    refused = slackwater("reshard", file, "--shards", "5", code=1)
    assert "end it with `slackwater stop`" in refused
    slackwater("stop", file)

    first = batches_of(file)
    said = slackwater("reshard", file, "--shards", "5", "--dry-run")
    assert "the same in 2 shards and in 5" in said
    assert "nothing was changed" in said
    for shards in (5, 3):  # the second time without a batch in between
        said = slackwater("reshard", file, "--shards", str(shards))
        assert f"the run has {shards} shards now" in said
        assert f"before batch {first}" in said
    state = slackwater("state", file, "--json")
    parts = {json.loads(line)["part"] for line in state.splitlines() if line.startswith("{")}
    assert {part for part in parts if "shard" in part} == {"shard 0", "shard 1", "shard 2"}

    # The file says another number than the run's copy: named, and nothing else.
    assert "shards" in slackwater("submit", file, "--run", "r1", code=2)
    file.write_text(PIPELINE.replace("shards: 2", "shards: 3"))
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    send(300, 600)
    through(file, "r1")
    assert batches_of(file) > first
    said = slackwater("verify", file, "--run", "r1")
    assert "lost 0, duplicated 0, differing 0" in said


B = """
  b:
    window: RANGE {} us SLIDE 20 us WATTR ts ORIGIN {} us
    aggregates: {{n: count, s: sum(v)}}
"""


def test_a_query_is_added_from_now_on(file: Path) -> None:
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")

    file.write_text(PIPELINE + B.format(40, 100))
    refused = slackwater("submit", file, code=2)
    assert f"slackwater stop {file} --run r1 && slackwater submit {file} --run r1" in refused
    slackwater("stop", file)
    first = batches_of(file)
    for words in (["--dry-run"], []):
        refused = slackwater("submit", file, "--run", "r1", *words, code=1)
        assert "such as at ORIGIN 1970-01-01T00:00:00.000300Z; nothing was changed" in refused
    assert batches_of(file) == first

    file.write_text(PIPELINE + B.format(40, 300))
    said = slackwater("submit", file, "--dry-run")
    assert "queries.b: added from its ORIGIN on" in said
    assert "the same before and after" in said
    assert "nothing was changed" in said
    assert "its old checkpoint is kept in" in slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file, "--run", "r1")
    send(300, 600)
    through(file, "r1")
    assert batches_of(file) > first
    said = slackwater("verify", file, "--run", "r1")
    assert "lost 0, duplicated 0, differing 0" in said
    said = slackwater("why", file, "--query", "b", "--window", "1970-01-01T00:00:00.000340Z")
    assert "closed, due at" in said
    assert "it holds 39 records" in said
