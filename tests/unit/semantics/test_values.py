"""From bytes to a record: every rule of the contract, at its edges."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.model import parse_pipeline
from windowing.semantics.json_objects import DEPTH_MAX, parse_object
from windowing.semantics.times import read_iso
from windowing.semantics.values import Record, ValueReader

PIPELINE = """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, unit: {unit}, min: "1970-01-01", max: "2100-01-01", max_ahead: 1 s}}
  fields: {{k: string, n: int, x: "float?", f: int}}
  disorder: ordered
  unknown_fields: {unknown}
queries:
  w: {{window: RANGE 1 s SLIDE 1 s WATTR ts, group_by: [k], aggregates: {{c: count}}}}
  v: {{window: RANGE 1 s SLIDE 1 s WATTR ts, group_by: [f], aggregates: {{c: count}}}}
"""


def read(value: bytes | str | dict[str, Any] | None, **options: Any) -> Record | str:
    unit, unknown = options.get("unit", "us"), options.get("unknown", "dead_letter")
    reader = ValueReader(parse_pipeline(PIPELINE.format(unit=unit, unknown=unknown)))
    spelled = json.dumps(value) if isinstance(value, dict) else value
    as_bytes = spelled.encode() if isinstance(spelled, str) else spelled
    return reader.read(as_bytes, options.get("append_us"))


def good(**changes: Any) -> dict[str, Any]:
    return {"ts": 5, "k": "a", "n": 1, "x": 0.5, "f": 1, **changes}


def number(spelling: str, name: str = "n") -> str:
    fields = {**good(), name: 0}
    return json.dumps(fields).replace(f'"{name}": 0', f'"{name}": {spelling}')


def test_a_good_value() -> None:
    assert read(good()) == Record(5, {"k": "a", "n": 1, "x": 0.5, "f": 1})
    assert read({"ts": 5, "k": "", "n": 0, "f": 0}) == Record(
        5, {"k": "", "n": 0, "x": None, "f": 0}
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"null",
        b"5",
        b"[1]",
        b'"x"',
        b"{",
        b"{}x",
        b"{'ts':1}",
        b'\xef\xbb\xbf{"ts":1}',
        b'{"ts":1,"k":"\xff"}',
        b'{"ts":1,"k":"\xed\xa0\x80"}',
        b'{"ts":NaN}',
        b'{"ts":-Infinity}',
        b'{"ts":1,"k":"\\ud800"}',
        b'{"ts":1,"\\udc00":"a"}',
        b'{"ts":1,"z":[{"y":["\\ud800"]}]}',
        b'{"ts":"\\ud800","ts":1}',
        b'{"ts":NaN,"ts":1}',
        b'{"ts":01}',
        b'{"ts":1,"k":"\n"}',
        b'{"z":' + b"[" * 100_000,
        b'{"z":' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}",
    ],
)
def test_malformed(value: bytes | None) -> None:
    assert read(value) == "malformed"


def test_nesting_is_allowed_up_to_the_limit_and_brackets_in_strings_do_not_nest() -> None:
    inside = DEPTH_MAX - 1
    assert parse_object(b'{"z":' + b"[" * inside + b"]" * inside + b"}") is not None
    assert parse_object(json.dumps({"z": "[" * 2000 + '"\\'}).encode()) is not None


def test_a_surrogate_pair_is_text_and_the_last_of_two_names_wins() -> None:
    assert parse_object(b'{"k":"\\ud83d\\ude00"}') == {"k": "\U0001f600"}
    assert parse_object(b'{"k":"\\\\ud800"}') == {"k": "\\ud800"}
    assert parse_object(b' {"k":1,"k":2}\r\n') == {"k": 2}


@pytest.mark.parametrize(
    ("spelling", "reason"),
    [
        ("null", "missing_event_time"),
        ('"5"', "bad_event_time"),
        ("5.0", "bad_event_time"),
        ("5e0", "bad_event_time"),
        ("1e400", "bad_event_time"),
        ("true", "bad_event_time"),
        ("{}", "bad_event_time"),
        ("-1", "time_out_of_range"),
        ("4102444800000000", "time_out_of_range"),
        ("9" * 30, "time_out_of_range"),
        ("-" + "9" * 5000, "time_out_of_range"),
    ],
)
def test_event_times(spelling: str, reason: str) -> None:
    assert read(number(spelling, "ts")) == reason


def test_the_first_and_the_last_legal_time() -> None:
    assert isinstance(read(good(ts=0)), Record)
    last = read(good(ts=4102444799999999))
    assert isinstance(last, Record)
    assert last.ts_us == 4102444799999999
    assert read(good(ts=4102444799), unit="s") == Record(
        4102444799000000, {"k": "a", "n": 1, "x": 0.5, "f": 1}
    )
    assert read(good(ts=4102444800), unit="s") == "time_out_of_range"


def test_max_ahead_is_judged_with_an_append_time_only() -> None:
    assert isinstance(read(good(ts=1_000_005), append_us=5), Record)
    assert read(good(ts=1_000_006), append_us=5) == "time_ahead"
    assert isinstance(read(good(ts=1_000_006)), Record)


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("-0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e0", None),
        ("true", None),
        ('"1"', None),
        ("null", None),
    ],
)
def test_ints(spelling: str, value: int | None) -> None:
    record = read(number(spelling))
    assert (record.fields["n"] if isinstance(record, Record) else None) == value
    assert value is not None or record == "bad_type"


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("7", "7.0"),
        ("-0.0", "0.0"),
        ("-0", "0.0"),
        ("-1e-400", "0.0"),
        ("1e0", "1.0"),
        ("1" + "0" * 308, "1e+308"),
        ("9007199254740993", "9007199254740992.0"),
        ("null", "None"),
        ("1e400", "bad_type"),
        ("1" + "0" * 309, "bad_type"),
        ("9" * 5000, "bad_type"),
        ("false", "bad_type"),
        ('"1"', "bad_type"),
    ],
)
def test_floats(spelling: str, value: str) -> None:
    record = read(number(spelling, "x"))
    assert (repr(record.fields["x"]) if isinstance(record, Record) else record) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"k": None, "n": "1", "z": 0}, "missing_event_time"),
        (good(z=None, k=None, n="1"), "unknown_field"),
        (good(k=None, n="1"), "null_key"),
        (good(f=None, n="1"), "null_key"),
        ({"ts": 5, "k": "a", "n": 1}, "null_key"),
        (good(f="1"), "bad_type"),
        (good(k=7), "bad_type"),
        (good(n=None), "bad_type"),
    ],
)
def test_the_first_reason_wins(value: dict[str, Any], reason: str) -> None:
    assert read(value) == reason


def test_unknown_fields_may_be_ignored() -> None:
    assert isinstance(read(good(z=[1]), unknown="ignore"), Record)


@pytest.mark.parametrize(
    ("text", "ts_us"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01T00:00:00.5", 500_000),
        ("1970-01-01T00:00:00.000001-00:00", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T00:01:00-23:59", 0),
        ("0001-01-01T00:00:00+00:01", -62135596860000000),
        ("9999-12-31T23:59:59-00:01", 253402300859000000),
        ("2000-02-29T00:00:00Z", 951782400000000),
        ("1900-02-29T00:00:00Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("1970-01-01T24:00:00Z", None),
        ("1970-01-01T00:00:60Z", None),
        ("1970-01-01T00:00:00.Z", None),
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("1970-01-01T00:00:00.0000000000001Z", None),
        ("1970-01-01T00:00:00+24:00", None),
        ("1970-01-01T00:00:00+00:60", None),
        ("1970-01-01T00:00:00+0000", 0),
        ("1970-01-01 00:00z", 0),
        ("1970-01-01t00:00:00-01", 3_600_000_000),
        ("1970-01-01T00:00:00Z\n", None),
        ("١970-01-01T00:00:00Z", None),
        ("1970-01-01", None),
    ],
)
def test_iso(text: str, ts_us: int | None) -> None:
    assert read_iso(text) == ts_us


@given(st.text() | st.binary())
def test_no_bytes_break_it(content: str | bytes) -> None:
    value = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    assert isinstance(read(value), Record | str)
