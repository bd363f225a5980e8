"""What a dead letter was about: field, value and rule, for every reason there is."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import cases, entry
from windowing.engine.reading.batches import batches
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.pack import RawRows
from windowing.engine.reading.refusals import VALUE_MAX, detail, shown
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.values import reading_of
from windowing.engine.storage.frames import from_bytes
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.semantics.values import Reason

P = parse_pipeline("""
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: s, min: "2000-01-01", max: "2100-01-01", max_ahead: 1 day}
  fields: {k: string, v: "int?", x: float}
  disorder: ordered
queries: {q: {window: RANGE 10 s SLIDE 10 s WATTR ts, group_by: [k], aggregates: {n: count}}}
""")
RULES, T = ValueRules.of(P), 1_000_000_000
CASES = [
    (b'{"ts', "malformed", None, '{"ts', "one JSON object"),
    (b"\xff", "malformed", None, "\\xff", "one JSON object"),
    (None, "malformed", None, None, "one JSON object"),
    (b'{"k":"a"}', "missing_event_time", "ts", None, "is there"),
    (b'{"ts":null}', "missing_event_time", "ts", "null", "is there"),
    (b'{"ts":"now"}', "bad_event_time", "ts", '"now"', "an integer, in s"),
    (b'{"ts":5}', "time_out_of_range", "ts", "5", "2000-01-01T00:00:00+00:00 <= time <"),
    (b'{"ts":1100000000}', "time_ahead", "ts", "1100000000", "at most 1 d behind its appending"),
    (b'{"ts":1000000000,"z":[1]}', "unknown_field", "z", "[1]", "source.fields"),
    (b'{"ts":1000000000,"k":null}', "null_key", "k", "null", "`?`"),
    (b'{"ts":1000000000,"x":1}', "null_key", "k", None, "`?`"),
    (b'{"ts":1000000000,"k":"a","v":1.5,"x":1}', "bad_type", "v", "1.5", "or null"),
    (b'{"ts":1000000000,"k":"a"}', "bad_type", "x", None, "never null"),
    (b'{"ts":1000000000,"k":7,"x":1}', "bad_type", "k", "7", "a text, never null"),
    (b'{"ts":1000000000,"k":"a","x":"\\ud800"}', "malformed", None, None, "one JSON object"),
]


@pytest.mark.parametrize(("value", "reason", "field", "said", "rule"), CASES)
def test_each_reason_names_field_value_and_rule(
    value: bytes | None, reason: str, field: str | None, said: str | None, rule: str
) -> None:
    append_us = (T + 10) * 1_000_000
    with pytest.raises(BadValue) as refused:
        reading_of(RULES).exact(value, append_us)
    assert refused.value.reason == reason
    letter = detail(reason, value, None, append_us, RULES)
    assert (letter.field, letter.value) == (field, said or letter.value)
    assert rule in (letter.rule or "")


def test_no_reason_of_the_contract_is_left_out() -> None:
    # tests/unit/engine/test_changes.py, tests/unit/engine/test_control.py
    of_control = {"change_too_late", "not_allowed"}
    assert {case[1] for case in CASES} | of_control == {*get_args(Reason)}


@pytest.mark.parametrize("value", ["ä" * 500, b"\xff" * 500, {"a": "\ud800" * 99}, "x\0y", None])
def test_a_value_is_cut_and_any_tool_can_show_it(value: object) -> None:
    text = shown(value)
    assert 0 < len(text) <= VALUE_MAX
    assert text.encode()


def letters(pipeline: Pipeline, rows: list[RawRows]) -> list[dict[str, object]]:
    """The dead letters of batches, as the lanes send them."""
    engine = LocalEngine(pipeline)
    found = [data for part in rows for e in engine.feed({0: part}) for data in e.dead_letters]
    return [row for data in found for row in from_bytes(data).rows(named=True)]


def rows_of(*records: bytes, controls: dict[int, bytes] | None = None) -> RawRows:
    given = controls or {}
    return RawRows(
        offsets=range(len(records)),
        values=records,
        controls=[given.get(at) for at in range(len(records))],
        append_us=[None] * len(records),
    )


def good(ts: int) -> bytes:
    return json.dumps({"ts": T + ts, "k": "a", "x": 1}).encode()


def test_what_comes_too_late_names_the_time_and_the_policy() -> None:
    (late,) = letters(P, [rows_of(good(0), good(50), good(1))])
    assert (late["reason"], late["query"]) == ("late", "q")
    assert (late["field"], late["value"]) == ("ts", "2001-09-09T01:46:41+00:00")
    assert "had ended" in str(late["rule"])
    text = P.text + "late: {policy: update, every: 10 s}\nretention: 20 s\n"
    (late,) = letters(parse_pipeline(text), [rows_of(good(0), good(50), good(1))])
    assert late["reason"] == "out_of_retention"
    assert "up to 20 s after its window's end" in str(late["rule"])


def test_a_time_that_clocks_skip_breaks_another_rule_than_one_that_is_misspelled() -> None:
    """Both were said to be no text as the format, which a skipped one is."""
    text = P.text.replace("unit: s, ", "unit: {text: '%Y-%m-%d %H:%M', zone: Europe/Berlin}, ")
    rules = ValueRules.of(parse_pipeline(text))

    def rule_of(time: object) -> str | None:
        value = json.dumps({"ts": time, "k": "a", "x": 1}).encode()
        return detail("bad_event_time", value, None, None, rules).rule

    assert rule_of("2024-03-31 02:30") == "a time that clocks in Europe/Berlin show"
    assert {*map(rule_of, ("31.03.2024 02:30", "2024-02-30 02:30", 5))} == {
        "a text as '%Y-%m-%d %H:%M'"
    }


def test_windows_over_a_number_name_it() -> None:
    text = P.text.replace("RANGE 10 s SLIDE 10 s WATTR ts", "RANGE 10 SLIDE 10 WATTR m")
    pipeline = parse_pipeline(text.replace("fields: {k: string,", "fields: {m: int, k: string,"))
    values = [json.dumps({"ts": T, "k": "a", "x": 1, "m": m}).encode() for m in (1, 40, 2)]
    (late,) = letters(pipeline, [rows_of(*values)])
    assert (late["field"], late["value"]) == ("m", "2")


def test_behind_the_end_and_broken_controls_are_reported() -> None:
    broken = rows_of(b"", b"", good(3), controls={0: b'{"bund":1}', 1: b'{"end":true}'})
    first, after = letters(P, [broken])
    assert (first["reason"], first["value"]) == ("malformed", '{"bund":1}')
    assert "control record" in str(first["rule"])
    assert (after["reason"], after["field"]) == ("after_end", None)
    assert "behind the end" in str(after["rule"])


@given(data=st.data())
def test_every_dead_letter_has_its_rule(data: st.DataObject) -> None:
    case = data.draw(cases(records_max=20))
    pipeline = parse_pipeline(case.pipeline)
    engine = LocalEngine(pipeline)
    for batch in batches([entry(event) for event in case.events], 7, pipeline):
        for emission in engine.feed(batch):
            for stream in emission.dead_letters:
                assert from_bytes(stream)["rule"].null_count() == 0
