"""Another number of shards, and more queries, for a run on a real stack: same tables, proved."""

from __future__ import annotations

import json
from pathlib import Path

from tests.night.spark.test_change import PIPELINE, file, overview, send, slackwater, through

__all__ = ["file"]


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
