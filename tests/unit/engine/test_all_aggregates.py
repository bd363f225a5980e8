"""Every aggregate in one pipeline: the engine's bytes are the definition's, however it is cut."""

from __future__ import annotations

import json
import random

import pytest
import yaml

from tests.strategies import HARD_FLOATS, Entry
from windowing.engine.reading.batches import batches, interleave
from windowing.model import Pipeline, parse_pipeline
from windowing.model.fields import usage
from windowing.model.functions import SIGNATURES
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate

FIELDS = {"g": "string", "delay": "int?", "carrier": "string?", "x": "float?", "ok": "bool?"}
FIELDS |= {"amount": "decimal(12,2)?", "huge": "decimal(38,4)?", "day": "date?", "at": "timestamp?"}


def _pipeline(aggregates: dict[str, str]) -> Pipeline:
    document = {
        "name": "all",
        "source": {
            "topic": "s",
            "partitions": 2,
            "format": "json",
            "event_time": {"field": "ts", "unit": "us"},
            "fields": FIELDS,
            "disorder": {"slack": "3 us"},
        },
        "late": {"policy": "update", "every": "5 us"},
        "retention": "40 us",
        "shards": 2,
        "queries": {
            "q": {
                "window": "RANGE 15 us SLIDE 10 us WATTR ts",
                "group_by": ["g"],
                "aggregates": aggregates,
            }
        },
    }
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False))


def _log(seed: int, size: int = 60) -> list[Entry]:
    """Nearly sorted records on two lanes, both ended; one value in five is null."""
    rng = random.Random(seed)
    entries = []
    for partition in (0, 1):
        times = sorted(rng.randint(0, 50) for _ in range(size))
        for offset, ts_us in enumerate(times):
            drawn = {
                "delay": rng.choice([rng.randint(-3, 3), rng.randint(-(2**57), 2**57)]),
                "carrier": rng.choice(["AA", "UA", "é", ""]),
                "x": rng.choice(HARD_FLOATS),
                "ok": rng.random() < 0.5,
                "amount": rng.choice(["0.10", "-12.5", 7, "9999999999.99"]),
                "huge": rng.choice(["9" * 34 + ".9999", "-" + "9" * 33, "0.0001", 5]),
                "day": rng.choice(["2024-02-29", "1999-12-31"]),
                "at": rng.choice([0, -5, 10**15]),
            }
            value = {name: part for name, part in drawn.items() if rng.random() < 0.8}
            value |= {"ts": max(ts_us - rng.choice([0, 0, 2, 9]), 0), "g": rng.choice("ab")}
            entries.append(Entry("s", partition, offset, json.dumps(value).encode(), None, None))
        entries.append(Entry("s", partition, size, None, b'{"end": true}', None))
    return entries


@pytest.mark.parametrize("rows", [4, 1000])
def test_all_aggregates_at_once(rows: int) -> None:
    texts = [usage(function) for function in SIGNATURES]
    texts += [text.replace("delay", "x") for text in texts if text != "count"]
    texts += [text.replace("delay", "amount") for text in texts if "delay" in text]
    texts += ["sum(huge)", "mean(huge)", "median(huge)", "quantile(huge, 0.5)", "top_k(huge, 2)"]
    for field in ("amount", "huge", "day", "at", "carrier"):
        texts += [f"{function}({field})" for function in ("min", "max")]
    for field in ("ok", *FIELDS):
        texts += [f"{one}({field})" for one in ("first", "last", "argmin", "count", "collect")]
    texts += [
        "python:pipelines.swing:Swing(x)",
        "python:tests.unit.engine.user_classes:Text(carrier)",
    ]
    pipeline = _pipeline({f"a{number}": text for number, text in enumerate(texts)})
    log = _log(rows)
    defined = list(row_lines(evaluate(pipeline, log).rows))
    assert any('"pane":"late"' in line for line in defined)
    found = list(row_lines(run(pipeline, batches(interleave(log, rows), rows)).rows))
    assert found == defined


@pytest.mark.parametrize("name", ["Failing", "Odd", "Keeping", "FailingMerge"])
def test_a_class_that_always_fails_stops_nothing(name: str) -> None:
    pipeline = _pipeline(
        {"a": f"python:tests.unit.engine.user_classes:{name}(delay)", "s": "sum(delay)"}
    )
    log = _log(9)
    found, defined = run(pipeline, batches(log, 10)), evaluate(pipeline, log)
    if name == "FailingMerge":  # the definition merges nothing
        assert any(row.overflow == ("a",) for row in found.rows)
        return
    assert [*row_lines(found.rows)] == [*row_lines(defined.rows)]
    assert [*dead_letter_lines(found.dead_letters)] == [*dead_letter_lines(defined.dead)]
    if name == "Keeping":  # its state of one record is none
        assert {letter.reason for letter in found.dead_letters} >= {"refused_by:a"}
    else:
        assert {row.overflow for row in found.rows if row.values["s"] is not None} == {("a",)}
