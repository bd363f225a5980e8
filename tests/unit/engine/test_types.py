"""Values of every type, from the log to the bytes of rows: keys, results, and dead letters."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.log import LogRecord
from chaos.readers.output import output_of
from chaos.verdict.in_parts import Means
from chaos.verdict.verify import verify
from windowing.engine.reading.batches import batches, interleave
from windowing.engine.reading.decimals import read_decimal
from windowing.engine.reading.objects import BadValue, parse_object
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines, row_order
from windowing.model.types import FieldType
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.json_objects import parse_object as defined_object
from windowing.semantics.values import read_scalar

FIELDS = {
    "money": "decimal(12,2)?",
    "wide": "decimal(38,10)?",
    "ok": "bool?",
    "day": "date?",
    "at": "timestamp?",
    "n": "int?",
}
WINDOWS = (
    "RANGE 15 us SLIDE 10 us WATTR ts",
    "SESSION 4 us WATTR ts",
    "RANGE 20 us SLIDE 20 us WATTR ts PATTR money",
    "RANGE 3 rows SLIDE 2 rows WATTR row_num ORDER event_time",
)
GOOD: dict[str, list[Any]] = {
    "money": ["9.00", "10", "10.00", "-0.5", "9999999999.99", None],
    "wide": ["0.0000000001", "-12345678901234567890123456.5", "7", None],
    "ok": ["true", "false", None],
    "day": ['"2024-02-29"', '"2024-10-01"', '"0001-01-01"', None],
    "at": ["0", "-5", "1000000000000000", None],
    "n": ["1", "-2", None],
}
BAD: dict[str, list[str]] = {
    "money": ["1.001", "1e10", '"x"', "true", "[]", '" 1"', '"1_0"', "1e99999999999999999999"],
    "wide": ["1e-11", "1" + "0" * 28, '"+1"'],
    "ok": ["1", '"true"', "0"],
    "day": ['"2024-2-29"', '"2023-02-29"', '"0000-01-01"', "20240229"],
    "at": ["1.5", '"1970-01-01T00:00:00"', "9" * 19],
    "n": ["true"],
}


def pipeline_of(queries: dict[str, Any], fields: dict[str, str] | None = None) -> Pipeline:
    document = {
        "name": "types",
        "source": {
            "topic": "s",
            "partitions": 2,
            "format": "json",
            "event_time": {"field": "ts", "unit": "us"},
            "fields": fields or FIELDS,
            "disorder": {"slack": "3 us"},
        },
        "late": {"policy": "update", "every": "5 us"},
        "retention": "40 us",
        "shards": 3,
        "queries": queries,
    }
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False))


def log_of(rng: random.Random, size: int) -> list[LogRecord]:
    """Nearly sorted records on two lanes; texts of decimals have quotes or not."""
    log = []
    for partition in (0, 1):
        for offset, ts_us in enumerate(sorted(rng.randint(0, 60) for _ in range(size))):
            members = [f'"ts":{ts_us}']
            for name, good in GOOD.items():
                said = rng.choice(good) if rng.random() < 0.97 else rng.choice(BAD[name])
                if name in ("money", "wide") and said in good and said and rng.random() < 0.5:
                    said = f'"{said}"'
                members.append(f'"{name}":{"null" if said is None else said}')
            value = "{" + ",".join(members) + "}"
            log.append(LogRecord("s", partition, offset, value.encode(), None, None))
        log.append(LogRecord("s", partition, size, None, b'{"end": true}', None))
    return log


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("rows", [5, 1000])
def test_keys_of_every_type_are_those_of_the_definition(window: str, rows: int) -> None:
    rng = random.Random(f"{window}{rows}")
    shown = {"n": "count", "sum": "sum(money)", "all": "all(ok)", "last": "last(at)"}
    groups = [["money"], ["ok", "day"], ["at", "wide"]]
    queries: dict[str, Any] = {
        f"q{number}": {"window": window, "group_by": by, "aggregates": shown}
        for number, by in enumerate(groups)
    }
    if "row_num" in window:
        for query in queries.values():
            query |= {"late": {"policy": "drop"}, "retention": "1 us"}
    pipeline, log = pipeline_of(queries), log_of(rng, 24 if rows == 5 else 300)
    defined = evaluate(pipeline, log)
    found = run(pipeline, batches(interleave(log, rows), rows))
    assert list(row_lines(found.rows)) == list(row_lines(defined.rows))
    letters = list(dead_letter_lines(defined.dead))
    assert list(dead_letter_lines(found.dead_letters)) == letters
    assert any("bad_type" in letter for letter in letters)


def test_rows_show_values_as_the_contract_spells_them() -> None:
    shown = {
        "sum": "sum(money)",
        "mean": "mean(money)",
        "most": "max(wide)",
        "every": "all(ok)",
        "some": "any(ok)",
        "days": "collect(day)",
        "at": "first(at)",
        "known": "count(money)",
    }
    query = {"window": "RANGE 9 us SLIDE 9 us WATTR ts", "group_by": ["ok"], "aggregates": shown}
    pipeline = pipeline_of({"q": query})
    values = [
        '{"ts":1,"money":1.1,"wide":"-0.5","ok":true,"day":"2024-02-29","at":7}',
        '{"ts":2,"money":"0.90","ok":true}',
        '{"ts":3,"money":0.005,"ok":true}',
        '{"ts":4,"money":0.01,"ok":null}',
    ]
    log = [LogRecord("s", 0, n, value.encode(), None, None) for n, value in enumerate(values)]
    log += [LogRecord("s", lane, 9, None, b'{"end":true}', None) for lane in (0, 1)]
    found = run(pipeline, batches(log, 2))
    rows = [json.loads(line) for line in row_lines(found.rows)]
    assert [row["key"] for row in rows] == [[None], [True]]
    assert rows[1]["values"] == {
        "sum": "2.00",
        "mean": "1.00000000",
        "most": "-0.5000000000",
        "every": True,
        "some": True,
        "days": ["2024-02-29"],
        "at": 7,
        "known": 2,
    }
    assert rows[0]["values"]["every"] is None
    assert [letter.reason for letter in found.dead_letters] == ["bad_type"]


def test_a_sum_beyond_38_digits_is_null_and_named() -> None:
    query = {
        "window": "RANGE 9 us SLIDE 9 us WATTR ts",
        "aggregates": {"s": "sum(w)", "n": "count"},
    }
    pipeline = pipeline_of({"q": query}, {"w": "decimal(38,0)"})
    most = "9" * 38
    for written, total in ((["1"], None), (["1", "-1"], most)):
        log = [
            LogRecord("s", 0, n, f'{{"ts":1,"w":{w}}}'.encode(), None, None)
            for n, w in enumerate([most, *written])
        ]
        log += [LogRecord("s", lane, 9, None, b'{"end":true}', None) for lane in (0, 1)]
        (row,) = run(pipeline, batches(log, 1)).rows
        assert row.values["s"] == (None if total is None else Decimal(total))
        assert row.overflow == (("s",) if total is None else ())
        assert list(row_lines([row])) == list(row_lines(evaluate(pipeline, log).rows))


def test_a_file_is_verified_in_the_order_of_its_keys() -> None:
    query = {
        "window": "RANGE 9 us SLIDE 9 us WATTR ts",
        "group_by": ["money", "ok"],
        "aggregates": {"n": "count", "w": "max(wide)"},
    }
    pipeline = pipeline_of({"q": query})
    values = [
        f'{{"ts":1,"money":{money},"ok":{ok},"wide":{money}}}'
        for money in ("9.00", "10.00", "-1", "null")
        for ok in ("true", "false")
    ]
    log = [LogRecord("s", 0, n, value.encode(), None, None) for n, value in enumerate(values)]
    log += [LogRecord("s", lane, 9, None, b'{"end":true}', None) for lane in (0, 1)]
    found = run(pipeline, batches(log, 3))
    rows = sorted(found.rows, key=row_order)
    output = replace(output_of(rows, found.dead_letters, "file"), ordered=True)
    verdict = verify(pipeline, log, output, Means(memory_bytes=1))
    assert verdict.ok, verdict
    assert [row.key for row in rows][::2] == [
        (None, False),
        (Decimal("-1.00"), False),
        (Decimal("9.00"), False),
        (Decimal("10.00"), False),
    ]


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?", fullmatch=True
)
ODD = ["0e" + "9" * 20, "1e" + "9" * 20, "1e-" + "9" * 20, "-0.0", "1." + "0" * 5000, "9" * 5000]


@given(NUMBERS | st.sampled_from(ODD), st.integers(1, 38), st.integers(0, 38), st.booleans())
def test_the_engine_reads_a_decimal_as_the_definition_does(
    number: str, precision: int, scale: int, quoted: bool
) -> None:
    type_ = FieldType("decimal", precision=precision, scale=min(scale, precision))
    text = f'{{"x":{json.dumps(number) if quoted else number}}}'.encode()
    document = defined_object(text, exact=True)
    assert document is not None
    try:
        found = read_decimal(parse_object(text, exact=True)["x"], type_)
    except BadValue:
        found = None
    defined = read_scalar(type_, document["x"])
    assert repr(found) == repr(defined)
    if found is not None and number not in ODD:
        assert found == Decimal(number)
        assert found.as_tuple().exponent == -type_.scale
