"""DuckDB's ASOF JOIN gives the recorded pairs, where no two times are equal and nothing is late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from tests.unit.more_windows.plain_python import FOLDER, MINUTE

_TABLE = "CREATE TABLE records (topic TEXT, lane TEXT, number INT, ts BIGINT, k TEXT)"
_ASOF = """
SELECT trades.lane, trades.number, prices.lane, prices.number
FROM (FROM records WHERE topic = 'trades') AS trades
ASOF LEFT JOIN (FROM records WHERE topic = 'prices') AS prices
  ON trades.k = prices.k AND trades.ts >= prices.ts
"""


def test_pairs() -> None:
    records = [
        (one["source"], f"{one['source']}/{one['partition']}", one["offset"], *_fields(one))
        for one in _lines("events.jsonl")
        if "value" in one
    ]
    with duckdb.connect() as connection:
        connection.execute(_TABLE)
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", records)
        joined = connection.execute(_ASOF).fetchall()
    times = {(lane, offset): ts for _, lane, offset, ts, _ in records}
    # DuckDB's has no limit: what is older than that is no partner.
    expected = {
        pair
        if pair[2] is not None and times[pair[:2]] - times[pair[2:]] <= MINUTE
        else (*pair[:2], None, None)
        for pair in joined
    }
    assert {tuple(row["key"][1:]) for row in _lines("OUT.jsonl")} == expected
    assert len({pair[2:] for pair in expected}) > 10


def _lines(name: str) -> Iterator[Any]:
    yield from map(json.loads, (FOLDER / "asof" / name).read_text().splitlines())


def _fields(line: dict[str, Any]) -> tuple[int, str | None]:
    return line["value"]["ts"], line["value"]["k"]
