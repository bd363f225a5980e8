"""The page about operators: each snippet is valid and gives rows, and they are those defined."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
import yaml

from tests.strategies import Entry
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.explain.operators import order_of_events
from windowing.model import Pipeline, parse_pipeline
from windowing.model.operators.models import (
    aggregate_windows,
    dedup_windows,
    join_windows,
    sort_windows,
)
from windowing.model.rows import row_lines
from windowing.model.windows.policy import Profile
from windowing.runtime.local import run
from windowing.semantics import evaluate

PAGE = (Path(__file__).parents[2] / "docs" / "operators.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(JOIN,) = (text for text in SNIPPETS if text.startswith("join:"))
(AS_OF,) = (text for text in SNIPPETS if text.startswith("name: priced"))
QUERIES = {
    name: query
    for text in SNIPPETS
    if text not in (JOIN, AS_OF)
    for name, query in yaml.safe_load(text).items()
}
LANES, RECORDS = 2, 150
SOURCE = f"""
name: p
source:
  topic: s
  partitions: {LANES}
  format: json
  event_time: {{field: ts, unit: s}}
  fields: {{carrier: string, origin: string, flight: int, delay: float, cancelled: int}}
  disorder: {{slack: 10 minutes}}
"""


@pytest.fixture(autouse=True)
def outlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class of the page, where it can be imported."""
    (tmp_path / "outlier.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)


def pipeline(name: str) -> Pipeline:
    text = yaml.safe_dump({"queries": {name: QUERIES[name]}}, sort_keys=False)
    return parse_pipeline(SOURCE + text)


def lanes() -> list[list[bytes]]:
    """Flights of four hours, up to ten minutes out of order."""
    rng = random.Random(1)
    return [
        [
            json.dumps(
                {
                    "ts": number * 14_400 // RECORDS + rng.randint(0, 600),
                    "carrier": rng.choice(["AA", "UA", "WN"]),
                    "origin": rng.choice(["SFO", "JFK"]),
                    "flight": rng.randint(1, 40),
                    "delay": rng.randint(0, 90) / 4,
                    "cancelled": int(rng.random() < 0.1),
                }
            ).encode()
            for number in range(RECORDS)
        ]
        for _ in range(LANES)
    ]


def batch(values: list[bytes]) -> RawRows:
    return RawRows(
        offsets=[*range(len(values) + 1)],
        values=[*values, None],
        controls=[*(None for _ in values), b'{"end":true}'],
        append_us=[None] * (len(values) + 1),
    )


def entries(lane: int, values: list[bytes]) -> list[Entry]:
    records = [Entry("s", lane, n, value, None, None) for n, value in enumerate(values)]
    return [*records, Entry("s", lane, len(values), None, b'{"end":true}', None)]


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_gives_the_rows_that_are_defined(name: str) -> None:
    found = run(pipeline(name), [{lane: batch(values) for lane, values in enumerate(lanes())}])
    log = [entry for lane, values in enumerate(lanes()) for entry in entries(lane, values)]
    assert found.rows
    assert [*row_lines(found.rows)] == [*row_lines(evaluate(pipeline(name), log).rows)]


def test_the_join_gives_the_rows_that_are_defined() -> None:
    rng = random.Random(2)
    joined = parse_pipeline(f"name: p\n{JOIN}")
    fields = ({"origin": "JFK", "delay": 30.0}, {"airport": "JFK", "wind": 12.5})
    log = [
        Entry(topic, 0, number, json.dumps({"ts": 600 * number, **own}).encode(), None, None)
        for topic, own in zip(("flights", "weather"), fields, strict=True)
        for number in range(12)
    ]
    rng.shuffle(log)
    log.sort(key=lambda record: record.offset)
    rows = run(joined, batches(log, 5, joined)).rows
    assert [*row_lines(rows)] == [*row_lines(evaluate(joined, log).rows)]
    # All but the last two hours' records have been passed; a flight finds two reports at most.
    assert {row.values["wind"] for row in rows} == {12.5}
    assert len(rows) > 12


def test_each_trade_meets_the_newest_price_of_its_key_that_of_its_own_instant_too() -> None:
    prices = [(5, "a", 100), (6, "b", 7), (20, "a", 110)]
    trades = [(10, "a", 1), (11, "b", 2), (20, "a", 4)]
    log = list[Entry]()
    for topic, of, records in (("prices", "price", prices), ("trades", "qty", trades)):
        values = [json.dumps({"ts": ts, "id": key, of: n}).encode() for ts, key, n in records]
        log += [Entry(topic, 0, at, value, None, None) for at, value in enumerate(values)]
        log.append(Entry(topic, 0, len(values), None, b'{"end":true}', None))
    found = [[*row.values.values()] for row in evaluate(parse_pipeline(AS_OF), log).rows]
    assert found == [[1, 100], [2, 7], [4, 110]]


def test_an_operator_of_a_user_takes_at_most_twenty_lines() -> None:
    assert len(CODE.splitlines()) <= 20
    rows = run(pipeline("outliers"), [{n: batch(values) for n, values in enumerate(lanes())}]).rows
    delays = {row.values["late_by"] for row in rows}
    assert 0 < len(rows) < LANES * RECORDS / 2
    assert min(delays) > 0


def test_the_order_of_events_is_what_explain_says() -> None:
    table = PAGE[PAGE.index("| keeps \\ reports") : PAGE.index("## The operators")]
    cells = {cell.strip() for line in table.splitlines() for cell in line.split("|")}
    for window in aggregate_windows():
        if window.kind == "sliding":
            first, clock, then = order_of_events(window).partition("; the clock ")
            first = first.replace("full for the first time?", "full?").replace(", without it", "")
            assert first.replace(";", ",") + clock + then in cells


def test_the_counts_are_those_of_the_models() -> None:
    counts = dict(re.findall(r"^\| `(\w+)`.*= (\d+) \|$", PAGE, re.MULTILINE))
    for name, windows in (
        ("join", join_windows()),
        ("aggregate", aggregate_windows()),
        ("sort", sort_windows(Profile.paper)),
        ("dedup", dedup_windows()),
    ):
        assert int(counts[name]) == len([*windows])
