"""`windowed` in a user's own program: the page's example as written, and every row as defined."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from chaos.readers.log import read_events
from windowing.model import Pipeline, load_pipeline, parse_pipeline

PROJECT = Path(__file__).parents[3] / "slackwater" / "template"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A new project's pipeline and events, the latter as two files of lines for Spark."""
    (tmp_path / "pipelines").symlink_to(PROJECT / "pipelines")
    (tmp_path / "records").mkdir()
    pipeline = load_pipeline(PROJECT / "pipelines" / "orders.yml")
    lines = [
        json.dumps(
            {
                "partition": record.partition,
                "offset": record.offset,
                "value": None if record.value is None else record.value.decode(),
                "control": None if record.control is None else record.control.decode(),
            }
        )
        for record in read_events(PROJECT / "data" / "events.jsonl", pipeline.source)
    ]
    for number, part in enumerate((lines[:150], lines[150:])):
        file = tmp_path / "records" / f"{number}.json"
        file.write_text("\n".join(part) + "\n")
        os.utime(file, (number + 1, number + 1))
    monkeypatch.chdir(tmp_path)
    return pipeline


def test_columns_of_one_name_must_be_of_one_type() -> None:
    from windowing.model.run_errors import BadRecords
    from windowing.spark.flat_rows import FlatRows

    text = (PROJECT / "pipelines" / "orders.yml").read_text()
    other = text.replace("coupons: count_distinct(coupon)", "Orders: last(coupon)")
    assert text != other
    with pytest.raises(BadRecords, match="'Orders' of query visits is string, and in"):
        FlatRows(parse_pipeline(other.replace("{orders: count, Orders", "{Orders")))


def test_a_field_called_like_a_column_keeps_its_own() -> None:
    from windowing.spark.flat_rows import FlatRows

    text = (PROJECT / "pipelines" / "orders.yml").read_text()
    names = FlatRows(
        parse_pipeline(text.replace("{orders: count, coupons", "{Offset: count, c"))
    ).schema
    assert {"offset", "values.Offset", "shop", "absorbed_by"} <= set(names.names)
    assert "op" not in names.names


def of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind]
