"""The rows of many queries in one table of a real PostgreSQL, and its view of the newest ones."""

from __future__ import annotations

from pathlib import Path

import psycopg
from deltalake import DeltaTable

from chaos.quality.batches import RunTables
from chaos.readers.output import output_of
from chaos.readers.postgres import PostgresColumns, read_postgres
from jobs.overview.database import DatabaseTables
from jobs.tools.results import of_run
from tests.unit.sinks.test_one_table import ONE, TEXT, written
from windowing.model import Query, parse_pipeline
from windowing.spark.sinks.postgres import PostgresSink
from windowing.spark.sinks.postgres_reader import PostgresReader
from windowing.spark.sinks.table import TableSink


def test_one_table_has_the_rows_of_all_queries(postgres: str, tmp_path: Path) -> None:
    pipeline = parse_pipeline(TEXT.replace("table: t, layout", "postgres: one_table, layout"))
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
