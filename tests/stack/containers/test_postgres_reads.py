"""What is read from a real PostgreSQL: newest rows, one table for all, figures of an overview."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import psycopg
import pytest
from deltalake import DeltaTable

from chaos.quality.batches import RunTables
from chaos.readers.output import output_of
from chaos.readers.postgres import PostgresColumns, read_postgres
from chaos.verdict.verify import verify
from jobs.overview import cache
from jobs.overview.database import DatabaseTables
from jobs.overview.tables import Tables
from jobs.tools.dead_letters import letters_in
from jobs.tools.results import of_run
from tests.strategies import Entry, entry
from tests.unit.jobs.overview.test_run_tables import FILTERING, TEXT, log, timeless
from tests.unit.sinks.test_one_table import ONE, written
from tests.unit.sinks.test_one_table import TEXT as ONE_TABLE
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.fates import before_windows, names
from windowing.runtime.latest import latest
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import SinkFrame, tagged
from windowing.spark.sinks import PostgresSink, TableSink
from windowing.spark.sinks.postgres_reader import PostgresReader
from windowing.spark.sinks.reader import FolderReader

NEWEST = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: "string?"}}, disorder: ordered}}
late: {{policy: update, every: 5 us}}
retention: 100 us
accumulation: {accumulation}
early: {{records: 1}}
shards: 2
queries:
  windows: {{window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {{n: count}}}}
  sessions: {{window: SESSION 5 us WATTR ts, group_by: [k], aggregates: {{n: count}}}}
sink: {{postgres: {schema}}}
"""
TIMES = (1, 8, 12, 25, 3, 26, 13, 40, 2, 4, 70)


def newest_log(times: Sequence[int]) -> list[Entry]:
    values: list[dict[str, Any]] = [
        {"ts": ts, "k": None if ts % 3 else "a"} for offset, ts in enumerate(times)
    ]
    values.append({"ts": "soon", "k": "secret" * 99})
    return [
        entry({"source": "s", "partition": 0, "offset": offset, "value": value})
        for offset, value in enumerate(values)
    ]


def write(pipeline: Pipeline, sink: PostgresSink | TableSink, log: Sequence[Entry]) -> None:
    engine = LocalEngine(pipeline)
    for number, batch in enumerate(batches(log, 2, pipeline)):
        frames: list[SinkFrame] = [
            frame for emission in engine.feed(batch, number) for frame in tagged(emission)
        ]
        for _ in range(2):
            sink.take(frames, number)


def seen(schema: str, view: str) -> list[tuple[Any, ...]]:
    columns = "run, window_id, k, pane, revision, records, n"
    with psycopg.connect() as connection:
        rows = connection.execute(f'select {columns} from {schema}."{view}"')  # type: ignore[arg-type] # noqa: S608
        return sorted(rows.fetchall(), key=str)


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting"])
def test_a_view_shows_the_newest_rows_of_the_live_run(
    accumulation: str, postgres: str, tmp_path: Path
) -> None:
    schema = f"out_{accumulation}"
    pipeline = parse_pipeline(NEWEST.format(accumulation=accumulation, schema=schema))
    log, live = newest_log(TIMES), "blue"
    write(pipeline, TableSink(pipeline, tmp_path, "blue"), log)
    for run, part in (("blue", log), ("green", log[:4])):
        write(pipeline, PostgresSink(pipeline, schema, run, None, lambda: run == live), part)  # noqa: B023
    for query in pipeline.flows:
        table = DeltaTable(str(tmp_path / query.name)).to_pyarrow_table()
        wanted = latest(pl.DataFrame(pl.from_arrow(table)), query)
        columns = ("run", "window_id", "k", "pane", "revision", "records", "n")
        assert len(wanted) > 2
        found = seen(schema, f"{query.name}_newest")
        assert found == sorted(wanted.select(columns).rows(), key=str)
    live = "green"
    write(pipeline, PostgresSink(pipeline, schema, "green", None, lambda: live == "green"), log[:4])
    assert {row[0] for row in seen(schema, "windows_newest")} == {"green"}
    verdict = verify(pipeline, iter(log), read_postgres(pipeline, "blue"))
    assert verdict.ok, "\n".join(verdict.lines())
    assert (
        sorted(letters_in(PostgresReader(schema, "blue"))[0], key=str)
        == letters_in(FolderReader(tmp_path, "blue"))[0]
    )


def test_tables_from_before_there_were_details_and_views_get_them(postgres: str) -> None:
    pipeline = parse_pipeline(NEWEST.format(accumulation="accumulating", schema="old"))
    log = newest_log(TIMES)
    write(pipeline, PostgresSink(pipeline, "old", "r1"), log[:4])
    with psycopg.connect() as connection:
        connection.execute("drop view old.windows_newest, old.sessions_newest")
        connection.execute("alter table old.commits drop column live_since")
        for column in ("field", "value", "rule"):
            connection.execute(f"alter table old.dead_letters drop column {column}")  # type: ignore[arg-type]
    write(pipeline, PostgresSink(pipeline, "old", "r2"), log)
    assert {row[0] for row in seen("old", "windows_newest")} == {"r2"}
    (letter,) = letters_in(PostgresReader("old", "r2"))[0]
    assert (letter.field, letter.value) == ("ts", '"soon"')


def test_a_run_in_the_shadow_leaves_the_views_as_they_are(postgres: str) -> None:
    """Its rows may have another key, which says of which rows one is the newest."""
    text, live = NEWEST.format(accumulation="accumulating", schema="keys"), "blue"
    blue, green = (parse_pipeline(one) for one in (text, text.replace("group_by: [k], ", "")))
    log = newest_log(TIMES)
    write(blue, PostgresSink(blue, "keys", "blue", None, lambda: live == "blue"), log)
    wanted = seen("keys", "windows_newest")
    assert {row[2] for row in wanted} == {"a", None}
    sink = PostgresSink(green, "keys", "green", None, lambda: live == "green")
    write(green, sink, log[:6])
    assert seen("keys", "windows_newest") == wanted
    live = "green"
    engine = LocalEngine(green)
    emissions = [engine.feed(batch, n) for n, batch in enumerate(batches(log, 2, green))]
    for number in range(3, len(emissions)):
        frames = [frame for emission in emissions[number] for frame in tagged(emission)]
        sink.take(frames, number)
    found = seen("keys", "windows_newest")
    assert {row[0] for row in found} == {"green"}
    assert len({row[1] for row in found}) == len(found)


def test_a_table_that_has_a_views_name_is_left_alone(postgres: str) -> None:
    text = NEWEST.format(accumulation="accumulating", schema="taken")
    pipeline = parse_pipeline(text.replace("  sessions:", "  windows_newest:"))
    write(pipeline, PostgresSink(pipeline, "taken", "r1"), newest_log(TIMES))
    assert {row[0] for row in seen("taken", "windows_newest_newest")} == {"r1"}
    with psycopg.connect() as connection:
        kind = "select table_type from information_schema.tables where table_schema = 'taken'"
        found = connection.execute(f"{kind} and table_name = 'windows_newest'").fetchone()  # type: ignore[arg-type]
    assert found == ("BASE TABLE",)


def test_the_schema_of_the_newest_version_shows_its_newest_rows(postgres: str) -> None:
    text = NEWEST.format(accumulation="accumulating", schema="grown_v2")
    pipeline = parse_pipeline(text)
    write(pipeline, PostgresSink(pipeline, "grown_v2", "r1"), newest_log(TIMES))
    wanted = seen("grown_v2", "windows_newest")
    assert wanted
    assert seen("grown_newest", "windows_newest") == wanted
    PostgresSink(pipeline, "grown_v2", "r1")  # a restart makes them again
    assert seen("grown_newest", "windows_newest") == wanted


def test_one_table_has_the_rows_of_all_queries(postgres: str, tmp_path: Path) -> None:
    pipeline = parse_pipeline(ONE_TABLE.replace("table: t, layout", "postgres: one_table, layout"))
    engine = written(pipeline, PostgresSink(pipeline, "one_table", "r1"))
    own = output_of(engine.output.rows, [], "local")
    assert sorted(read_postgres(pipeline, "r1").rows) == sorted(own.rows)
    written(ONE, TableSink(ONE, tmp_path, "r1"))
    found = DatabaseTables(PostgresReader("one_table", "r1")).results(["results"])["results"]
    assert found.rows == len(DeltaTable(str(tmp_path / "results")).to_pyarrow_table())
    for query in pipeline.of(Query):
        assert len(RunTables(PostgresColumns(pipeline, Path(), "r1")).rows(query)) > 0
        newest = of_run(tmp_path / "results", "r1", query)
        with psycopg.connect(options="-c TimeZone=UTC") as connection:
            rows = connection.execute(
                "select window_id, k, revision, records from one_table.results_newest"
                " where query = %s",
                [query.name],
            ).fetchall()
        wanted = newest.select("window_id", "k", "revision", "records").rows()
        assert sorted(rows, key=str) == sorted(wanted, key=str)


SINK = "sink: {postgres: overview}\n"
UPDATE = TEXT.replace("LATE", "update, every: 20 s") + "retention: 30 s\n"
TEXTS = {
    "update": UPDATE + SINK,
    "retracting": UPDATE + SINK + "accumulation: retracting\n",
    "drop": TEXT.replace("LATE", "drop") + SINK,
    "filtering": TEXT.replace("LATE", "drop").replace("fields: {k: string}", FILTERING) + SINK,
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
    fates = names(before_windows(pipeline.source.fates))
    there = found(DatabaseTables(PostgresReader("overview", "r1"), fates=fates))
    assert timeless(there) == timeless(found(Tables(tmp_path, "r1", cache.Cache(), fates=fates)))
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
