"""What is read of a run's tables: the same with and without what is known, at every version."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable

from jobs.overview import cache
from jobs.overview.tables import Tables
from jobs.overview.updater import EVERY_S, Updater
from tests.strategies import Entry, entry
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks import upkeep
from windowing.spark.sinks.table import TableSink

TEXT = """
name: p
source: {topic: s, partitions: 3, format: json, event_time: {field: ts, unit: s},
  fields: {k: string}, disorder: {slack: 5 s}}
late: {policy: LATE}
queries:
  q: {window: RANGE 10 s SLIDE 5 s WATTR ts, group_by: [k], aggregates: {n: count}}
  r: {window: RANGE 20 s SLIDE 20 s WATTR ts, aggregates: {n: count}}
"""
UPDATE = parse_pipeline(TEXT.replace("LATE", "update, every: 20 s") + "retention: 30 s\n")
FILTERING = (
    "fields: {k: string}, where: $offset mod 7 <> 3,\n"
    "  rules: [{name: soon, check: $offset > 9, on_fail: warn}]"
)
DROP = parse_pipeline(TEXT.replace("LATE", "drop").replace("fields: {k: string}", FILTERING))
FATES = ("filtered", "warned:soon")
QUERIES = ("q", "r")


def log(seed: int, records: int = 120) -> list[Entry]:
    """A log with late records, and some that are not records."""
    chance, offsets, found = random.Random(seed), Counter[int](), []
    for number in range(records):
        lane = chance.randrange(3)
        value: Any = {
            "ts": max(0, number - chance.choice([0, 1, 30, 60])),
            "k": chance.choice("ab"),
        }
        if chance.random() < 0.1:
            value = chance.choice([{"ts": "x" * 300, "k": "a"}, {"ts": 1, "k": 5}, "<script>"])
        offset = offsets[lane]
        offsets[lane] += 1
        found.append(entry({"source": "s", "partition": lane, "offset": offset, "value": value}))
    return found


class Job:
    """A job that writes a log batch by batch."""

    def __init__(self, pipeline: Pipeline, folder: Path, run: str, seed: int = 1) -> None:
        self.engine, self.sink = LocalEngine(pipeline), TableSink(pipeline, folder, run)
        self.left = list(enumerate(batches(log(seed), 10, pipeline)))

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            number, batch = self.left.pop(0)
            frames = [frame for sent in self.engine.feed(batch) for frame in tagged(sent)]
            self.sink.take(frames, number)


def looked(folder: Path, run: str, known: Path | None) -> dict[str, Any]:
    """What an overview reads, with a folder for what is known or without."""
    found = cache.Cache(tables=str(folder)) if known is None else cache.load(known, folder)
    tables = Tables(folder, run, found, fates=FATES)
    found_rows = tables.results(QUERIES)
    shown = {"q": found_rows, "lanes": tables.lanes(), "dead": tables.dead()}
    assert tables.problems == []
    if known is not None:
        assert cache.save(known, tables.finish()) is None
    plain: dict[str, Any] = msgspec.to_builtins(shown)
    return plain


def rows(folder: Path, name: str, run: str) -> list[dict[str, Any]]:
    """The rows of a table, read in another way."""
    found = DeltaTable(str(folder / name)).to_pyarrow_table().to_pylist()
    return [row for row in found if row["run"] == run]


def timeless(found: Any) -> Any:
    """What was read, without when it was written."""
    if isinstance(found, list):
        return [timeless(one) for one in found]
    if not isinstance(found, dict):
        return found
    times = ("history", "at_us", "heard_us")
    return {name: timeless(value) for name, value in found.items() if name not in times}


def check(found: dict[str, Any], folder: Path, run: str) -> None:
    """Compare sums with those of rows that are read one by one."""
    for name in QUERIES:
        own = rows(folder, name, run)
        late = sum(row["pane"] == "late" for row in own)
        assert (found["q"][name]["rows"], found["q"][name]["revisions"]) == (len(own), late)
        totals = [sum(c) for c in zip(*found["q"][name]["history"]["counts"].values(), strict=True)]
        assert totals == ([len(own), late] if own else [])
    letters, metrics = rows(folder, "dead_letters", run), rows(folder, "metrics", run)
    reasons = Counter(row["reason"] for row in letters)
    assert {name: one["count"] for name, one in found["dead"]["reasons"].items()} == reasons
    lanes = Counter(f"{row['source']}/{row['partition']}" for row in letters)
    assert {lane: count for lane, count in found["dead"]["lanes"].items() if count} == lanes
    late = Counter(
        f"{row['source']}/{row['partition']}"
        for row in letters
        if row["reason"] in ("late", "out_of_retention")
    )
    assert {lane: count for lane, count in found["dead"]["late"].items() if count} == late
    for name, lane in found["lanes"]["lanes"].items():
        own = [row for row in metrics if row["lane"] == name]
        last = max(row["batch_id"] for row in own)
        assert lane["read"] == sum(row["read"] for row in own if row["query"] == "q")
        assert lane["dropped"] == sum(row["dropped"] for row in own)
        of_one = [row for row in own if row["query"] == "q"]
        assert lane["fates"] == {name: sum(row.get(name, 0) for row in of_one) for name in FATES}
        assert lane["heard"] == max((r["batch_id"] for r in own if r["read"]), default=-1)
        (progress,) = {row["progress_us"] for row in own if row["batch_id"] == last}
        assert lane["progress_us"] == progress
    assert found["lanes"]["last"] == max(row["batch_id"] for row in metrics)
    batches_ = sum(counts[2] for counts in found["lanes"]["history"]["counts"].values())
    assert batches_ == len({row["batch_id"] for row in metrics})


@pytest.mark.parametrize("pipeline", [UPDATE, DROP], ids=["update", "drop"])
def test_what_is_known_is_never_wrong(tmp_path: Path, pipeline: Pipeline) -> None:
    folder, known = tmp_path / "tables", tmp_path / "run"
    known.mkdir()
    mine, other = Job(pipeline, folder, "r 1"), Job(pipeline, folder, "r2", seed=2)
    for number in range(8):
        mine.step()
        other.step()
        found, anew = looked(folder, "r 1", known), looked(folder, "r 1", None)
        assert timeless(found) == timeless(anew)
        assert number > 4 or found == anew
        check(found, folder, "r 1")
        if number == 4:
            # Merged files no longer say when a batch was written.
            upkeep.optimize(pipeline, folder)
        if number == 6:
            (known / cache.FILE).write_text("{ no cache")
    assert found["q"]["q"]["rows"] > 15
    assert sum(one["count"] for one in found["dead"]["reasons"].values()) >= 3


def test_tables_that_are_put_back_or_made_again_are_read_anew(tmp_path: Path) -> None:
    folder, known, copy = tmp_path / "tables", tmp_path / "run", tmp_path / "copy"
    known.mkdir()
    job = Job(DROP, folder, "r1")
    job.step(3)
    shutil.copytree(folder, copy)
    job.step(2)
    looked(folder, "r1", known)
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)  # with its times, as a backup is put back
    check(looked(folder, "r1", known), folder, "r1")
    shutil.rmtree(folder)
    Job(DROP, folder, "r1", seed=3).step(5)  # as many commits as were seen at first
    check(looked(folder, "r1", known), folder, "r1")


def test_only_new_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, known = tmp_path / "tables", tmp_path / "run"
    known.mkdir()
    job = Job(UPDATE, folder, "r1")
    job.step(6)
    looked(folder, "r1", known)
    for path in folder.glob("*/run=r1/*.parquet"):
        path.chmod(0)
        path.write_bytes(b"")  # whoever reads it again fails
    job.step(1)
    found = looked(folder, "r1", known)
    assert found["lanes"]["last"] == 6
    monkeypatch.setattr("jobs.overview.opening.DeltaTable", None)
    assert looked(folder, "r1", known) == found
    job.step(2)
    assert looked(folder, "r1", known)["lanes"]["last"] == 8  # by the commits alone


def test_examples_are_the_newest_of_each_reason(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    Job(UPDATE, folder, "r1").step(10)
    found = looked(folder, "r1", None)["dead"]["reasons"]
    letters = rows(folder, "dead_letters", "r1")
    for name, reason in found.items():
        own = [row for row in letters if row["reason"] == name]
        own.sort(key=lambda row: (-row["batch_id"], row["partition"], -row["offset"]))
        expected = [(f"s/{row['partition']}", row["offset"], row["value"]) for row in own[:5]]
        shown = [(one["lane"], one["offset"], one["value"]) for one in reason["examples"]]
        assert shown == expected
        assert all(one["at_us"] for one in reason["examples"])


def test_a_table_that_is_not_there_is_said(tmp_path: Path) -> None:
    tables = Tables(tmp_path, "r1", cache.Cache(tables=str(tmp_path)))
    assert (tables.results(["q"]), tables.lanes(), tables.dead()) == ({}, None, None)
    assert [problem.split(" is ")[1] for problem in tables.problems] == [
        "not there yet: the run has not written to it"
    ] * 3


def test_tables_elsewhere_are_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on HDFS, where only deltalake reaches them."""
    folder, known = tmp_path / "tables", tmp_path / "run"
    known.mkdir()
    job = Job(UPDATE, folder, "r1")
    for _ in range(3):
        job.step(2)
        here = looked(folder, "r1", None)
        with monkeypatch.context() as patched:
            patched.setattr("jobs.overview.opening.is_here", lambda table: False)
            assert looked(folder, "r1", known) == here


def test_a_driver_keeps_up_what_overviews_count(tmp_path: Path) -> None:
    folder, known = tmp_path / "tables", tmp_path / "run"
    known.mkdir()
    now_s = [100.0]
    job, updater = (
        Job(UPDATE, folder, "r1"),
        Updater(known, known / "checkpoint", folder, "r1", QUERIES, FATES, clock=lambda: now_s[0]),
    )
    job.step(3)
    updater.update_if_due()
    assert not (known / cache.FILE).exists(), "it is not time yet"
    now_s[0] += EVERY_S
    updater.update_if_due()
    job.step(2)
    updater.update_if_due()
    kept = cache.load(known, folder)
    assert kept.lanes is not None
    assert kept.lanes.last == 2
    updater.update()
    tables = Tables(folder, "r1", cache.load(known, folder))
    shown = {"q": tables.results(QUERIES), "lanes": tables.lanes(), "dead": tables.dead()}
    assert not tables.changed, "everything was counted"
    assert timeless(msgspec.to_builtins(shown)) == timeless(looked(folder, "r1", None))


def test_a_driver_reads_nothing_large(tmp_path: Path) -> None:
    folder, known = tmp_path / "tables", tmp_path / "run"
    known.mkdir()
    job = Job(UPDATE, folder, "r1")
    job.step(2)
    Updater(known, known / "checkpoint", folder, "r1", QUERIES, FATES).update()
    before = cache.load(known, folder)
    job.step(2)
    Updater(known, known / "checkpoint", folder, "r1", QUERIES, FATES, bytes_max=10).update()
    after = cache.load(known, folder)
    assert (after.lanes, after.seen["metrics"]) == (before.lanes, before.seen["metrics"])
    assert timeless(looked(folder, "r1", known)) == timeless(looked(folder, "r1", None))
