"""What an overview finds in PostgreSQL's tables: what it finds in Delta tables of the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobs.overview import cache
from jobs.overview.database import DatabaseTables
from jobs.overview.tables import Tables
from tests.unit.jobs.overview.test_run_tables import TEXT, log, timeless
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks.postgres import PostgresSink
from windowing.spark.sinks.postgres_reader import PostgresReader
from windowing.spark.sinks.table import TableSink

SINK = "sink: {postgres: overview}\n"
UPDATE = TEXT.replace("LATE", "update, every: 20 s") + "retention: 30 s\n"
TEXTS = {
    "update": UPDATE + SINK,
    "retracting": UPDATE + SINK + "accumulation: retracting\n",
    "drop": TEXT.replace("LATE", "drop") + SINK,
}


def found(tables: Tables | DatabaseTables) -> dict[str, Any]:
    rows = tables.results(["q", "r"])
    told = {"q": rows, "lanes": tables.lanes(), "dead": tables.dead()}
    assert tables.problems == []
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return plain


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_both_sinks_tell_the_same(name: str, postgres: str, tmp_path: Path) -> None:
    pipeline, engine = parse_pipeline(TEXTS[name]), None
    for sink in (PostgresSink(pipeline, "overview", "r1"), TableSink(pipeline, tmp_path, "r1")):
        engine = LocalEngine(pipeline)
        for number, batch in enumerate(batches(log(1), 10, pipeline)):
            sink.take([frame for sent in engine.feed(batch) for frame in tagged(sent)], number)
    there = found(DatabaseTables(PostgresReader("overview", "r1")))
    assert timeless(there) == timeless(found(Tables(tmp_path, "r1", cache.Cache())))
    totals = [sum(column) for column in zip(*there["q"]["q"]["history"]["counts"].values())]  # noqa: B905
    assert totals == [there["q"]["q"]["rows"], there["q"]["q"]["revisions"]]
    assert totals[0] > 15


def test_a_database_that_does_not_answer_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", "1")
    tables = DatabaseTables(PostgresReader("overview", "r1"))
    assert (tables.results(["q"]), tables.lanes(), tables.dead()) == ({}, None, None)
    (problem,) = tables.problems
    assert "set PGHOST" in problem
