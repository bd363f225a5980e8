"""Rows without records, and rows that `having` withdraws, in tables and where they are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chaos.quality.batches import RunLines, RunTables
from chaos.quality.block import read_block
from chaos.quality.evidence import _defined_windows
from chaos.readers.delta import read_tables
from chaos.readers.output import output_of
from chaos.readers.table import TableColumns
from tests.unit.engine.test_sent_rows import UPDATE, log, pipeline
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, PipelineError
from windowing.model.query import Query
from windowing.runtime.latest import latest
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.semantics import evaluate
from windowing.spark.sinks.table import TableSink

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

# Window 0 of a counts 1, 2, 3, 4 records, and window 0 of b 2, then 1 more: odd counts hold.
LANE: list[Any] = [(1, "a", 1), (2, "b", 1), (3, "b", 1), (25, "c", 1), (4, "a", 1)]
LANE += [(35, "c", 1), (5, "a", 1), (45, "c", 1), (6, "a", 1), (7, "b", 1), (70, "c", 1)]


def written(spec: Pipeline, folder: Path) -> LocalEngine:
    """Run a pipeline over `LANE`, and write its tables."""
    engine, sink = LocalEngine(spec), TableSink(spec, folder, "r1")
    for number, batch in enumerate(batches(log(LANE, []), 2)):
        sink.take([frame for one in engine.feed(batch) for frame in tagged(one)], number)
    return engine


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting"])
def test_tables_have_what_was_sent_and_judges_see_what_still_stands(
    accumulation: str, tmp_path: Path
) -> None:
    query = {"having": "n mod 2 = 1", "empty": {"after": 1}, "accumulation": accumulation}
    spec = pipeline(query, **UPDATE)
    engine, entries = written(spec, tmp_path), log(LANE, [])
    found, defined = read_tables(tmp_path, spec), evaluate(spec, entries)
    assert sorted(found.rows) == sorted(output_of(defined.rows, [], "defined").rows)
    assert sorted(found.rows) == sorted(output_of(engine.output.rows, [], "local").rows)
    (flow,) = spec.of(Query)
    from_tables = RunTables(TableColumns(spec, tmp_path, "r1")).rows(flow)
    from_lines = RunLines(found, spec, entries).rows(flow)
    standing = {(0, "b"), (2, "c"), (3, "c"), (4, "c"), (7, "c")}
    for frame in (from_tables, from_lines):
        assert {*zip(frame["window_id"], frame["k"], strict=True)} == standing
        assert not {"op", "tombstone"} & {*frame.columns}
    names = _defined_windows(defined, flow, spec)
    assert {*zip(*names.to_pydict().values(), strict=True)} == standing
    newest = latest(pl.read_delta(str(tmp_path / "q")), flow)
    assert {*zip(newest["window_id"], newest["k"], strict=True)} == standing


def test_a_window_that_having_leaves_out_is_not_missing() -> None:
    complete = [{"query": "q", "expect_windows_to_be_complete": {}}]
    read_block(pipeline({"empty": {"after": 3}}, quality=complete))
    with pytest.raises(PipelineError, match="having leaves out rows of q"):
        read_block(pipeline({"having": "n > 1"}, quality=complete))
