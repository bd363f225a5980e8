"""A query that is added to a run, in the run's tables: written, verified, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.quality.batches import RunTables
from chaos.readers.delta import read_tables
from chaos.readers.table import TableColumns
from chaos.verdict.verify import verify
from jobs.checkpoints.agreement import compare
from jobs.checkpoints.plans import Checkpoint
from tests.strategies import entry
from tests.unit.engine.test_convert import as_snapshot, stores
from tests.unit.sinks.test_table_sink import frames
from windowing.engine.convert import convert
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.local import LocalEngine
from windowing.runtime.token import Kept
from windowing.spark.sinks import RunPlace, Sink, begin_tables
from windowing.spark.sinks.table import TableSink

TEXT = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: {slack: 5 us}}
shards: 2
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
"""
ADDED = """
  added: {window: RANGE 20 us SLIDE 10 us WATTR ts ORIGIN 100 us, aggregates: {n: count}}
"""
BEFORE, AFTER = parse_pipeline(TEXT), parse_pipeline(TEXT + ADDED)
# Each tenth value is spoilt, and the last record before the change is one of them.
LOG = [
    entry({"source": "s", "partition": 0, "offset": at, "value": {"ts": at, "k": at % 3}})
    if at % 10 != 9
    else entry({"source": "s", "partition": 0, "offset": at, "raw": "?"})
    for at in range(200)
]
CUT, ROWS = 100, 25


def begun(sink: Sink) -> LocalEngine:
    """A run that has written four batches."""
    engine = LocalEngine(BEFORE)
    for number, batch in enumerate(batches(LOG[:CUT], ROWS, BEFORE)):
        sink.take(frames(engine, batch, number), number)
    return engine


def gone_on(sink: Sink, engine: LocalEngine, end: int = len(LOG)) -> None:
    """Go on with the query that was added."""
    state, then = engine.snapshot(), LocalEngine(AFTER)
    then.restore(as_snapshot(convert(BEFORE, AFTER, stores(state.lanes), stores(state.shards))))
    for number, batch in enumerate(batches(LOG[CUT:end], ROWS, AFTER), CUT // ROWS):
        sink.take(frames(then, batch, number), number)


def place(folder: Path) -> RunPlace:
    return RunPlace(AFTER, "r1", folder)


@pytest.mark.parametrize("end", [CUT, CUT + ROWS, len(LOG)])
def test_it_is_verified_and_counted_like_any_other(tmp_path: Path, end: int) -> None:
    engine = begun(TableSink(BEFORE, tmp_path, "r1"))
    begin_tables(place(tmp_path), CUT // ROWS - 1, ["added"])
    gone_on(TableSink(AFTER, tmp_path, "r1"), engine, end)
    output = read_tables(tmp_path, AFTER, "r1")
    verdict = verify(AFTER, LOG[:end], output)
    assert verdict.ok, "\n".join(verdict.lines())
    assert output.counts is not None
    assert output.counts["added"]["outside"] == 90
    counts = RunTables(TableColumns(AFTER, tmp_path, "r1")).counts(["q", "added"])
    assert counts["read"].tolist() == [end, end]
    assert counts["read"].equals(counts[["applied", "outside", "dropped", "dead"]].sum(axis=1))


def test_its_table_belongs_to_the_checkpoint(tmp_path: Path) -> None:
    begun(TableSink(BEFORE, tmp_path, "r1"))
    last = CUT // ROWS - 1
    for _ in range(2):  # again, after an interruption
        begin_tables(place(tmp_path), last, ["added"])
    tables = TableSink.kept(AFTER, tmp_path, "r1")
    assert tables.tables["added"] == Kept(last, tables.tokens[last].digest)
    checkpoint = Checkpoint("c", last, last, {last: {"s/0": CUT}}, begins=last + 1)
    facts = {"known": {}, "may_be_compacted": frozenset[str](), "fingerprint": AFTER.fingerprint}
    assert compare(checkpoint, tables, {}, **facts).mismatches == ()  # type: ignore[arg-type]


def test_no_other_table_is_said_to_have_what_it_lacks(tmp_path: Path) -> None:
    begun(TableSink(BEFORE, tmp_path, "r1"))
    fresh = RunPlace(AFTER, "r2", tmp_path)
    with pytest.raises(TokenMismatch, match="has no token of batch 3"):
        begin_tables(fresh, 3, ["added"])
    begin_tables(place(tmp_path), 3, ["added"])
    assert TableSink.kept(AFTER, tmp_path, "r2").tables["q"] == Kept(None, None)
    assert TableSink.kept(AFTER, tmp_path, "r2").tables["added"] == Kept(None, None)
