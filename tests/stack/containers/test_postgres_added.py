"""A query that is added to a run whose rows are in a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from chaos.readers.postgres import read_postgres
from chaos.verdict.verify import verify
from tests.unit.sinks.test_added_queries import ADDED, CUT, LOG, ROWS, TEXT, begun, gone_on
from windowing.model import parse_pipeline
from windowing.runtime.token import Kept
from windowing.spark.sinks import RunPlace, begin_tables
from windowing.spark.sinks.postgres import PostgresSink

SINK = "sink: {postgres: out}"
BEFORE, AFTER = (parse_pipeline(text + SINK) for text in (TEXT, TEXT + ADDED))


def test_it_is_verified_and_counted_like_any_other(postgres: str) -> None:
    engine, last = begun(PostgresSink(BEFORE, "out", "r1")), CUT // ROWS - 1
    begin_tables(RunPlace(AFTER, "r1", Path(), is_live=lambda: False), last, ["added"])
    assert PostgresSink.kept(AFTER, Path(), "r1").tables["added"] == Kept(last)
    gone_on(PostgresSink(AFTER, "out", "r1"), engine)
    output = read_postgres(AFTER, "r1")
    verdict = verify(AFTER, LOG, output)
    assert verdict.ok, "\n".join(verdict.lines())
    assert output.counts is not None
    assert output.counts["added"]["outside"] == 90
