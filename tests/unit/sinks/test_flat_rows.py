"""Flat rows: of every recorded pipeline, all that its output has, under one schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from chaos.readers.log import read_events
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.query import Flow
from windowing.model.run_errors import BadRecords
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.flat_rows import FlatRows, spark_type

CASES = sorted((Path(__file__).parents[2] / "data" / "pipelines").glob("*/pipeline.yml"))
EMITTED = ["kind", "query", "frame"]
SAME = ("query", "window_id", "pane", "revision")


def flat(engine: LocalEngine, pipeline: Pipeline, events: Path) -> Iterator[dict[str, Any]]:
    """The flat rows of a log, in batches of seven, as the last stage on Spark makes them."""
    rows = FlatRows(pipeline)
    for batch in batches(read_events(events, pipeline.source), 7, pipeline):
        frames = [frame for emission in engine.feed(batch) for frame in tagged(emission)]
        columns = map(pa.array, zip(*frames, strict=True))
        yield from rows.of(pa.RecordBatch.from_arrays([*columns], EMITTED)).to_pylist()


def content(row: dict[str, Any], query: Flow) -> str:
    """The key fields and aggregates of a flat row."""
    parts = {"key": [*dict.fromkeys(query.key)], "values": [*query.shows]}
    own = [(part, name) for part, names in parts.items() for name in names]
    return str([row.get(f"{part}.{name}", row.get(name)) for part, name in own])


@pytest.mark.parametrize("file", CASES, ids=lambda path: path.parent.name)
def test_flat_rows_are_the_rows_of_a_recorded_case(file: Path) -> None:
    pipeline = load_pipeline(file)
    engine = LocalEngine(pipeline)
    rows = [*flat(engine, pipeline, file.parent / "events.jsonl")]
    queries = {query.name: query for query in pipeline.flows}
    found = [
        (*(row[name] for name in SAME), row["records"], content(row, queries[row["query"]]))
        for row in rows
        if row["kind"] == "result"
    ]
    expected = [
        (
            *(getattr(row, name) for name in SAME),
            row.records,
            str(
                [
                    *dict(zip(queries[row.query].key, row.key, strict=True)).values(),
                    *row.values.values(),
                ]
            ),
        )
        for row in (*engine.output.rows, *engine.output.early)
    ]
    assert sorted(found) == sorted(expected)
    letters = [row for row in rows if row["kind"] == "dead_letter"]
    assert len(letters) == len(engine.output.dead_letters)
    assert spark_type(FlatRows(pipeline).schema).startswith("`kind` string, `query` string")


PROJECT = Path(__file__).parents[3] / "slackwater" / "template"


def test_columns_of_one_name_must_be_of_one_type() -> None:
    text = (PROJECT / "pipelines" / "orders.yml").read_text()
    other = text.replace("coupons: count_distinct(coupon)", "Orders: last(coupon)")
    assert text != other
    with pytest.raises(BadRecords, match="'Orders' of query visits is string, and in"):
        FlatRows(parse_pipeline(other.replace("{orders: count, Orders", "{Orders")))


def test_a_field_called_like_a_column_keeps_its_own() -> None:
    text = (PROJECT / "pipelines" / "orders.yml").read_text()
    names = FlatRows(
        parse_pipeline(text.replace("{orders: count, coupons", "{Offset: count, c"))
    ).schema
    assert {"offset", "values.Offset", "shop", "absorbed_by"} <= set(names.names)
    assert "op" not in names.names
