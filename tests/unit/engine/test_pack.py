"""Reading a batch at once gives what reading value by value gives."""

from __future__ import annotations

import json
import random
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import cases, entry
from tests.strategies.documents import declarations, shapes, written
from windowing.engine.reading import pack as packing
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.model import parse_pipeline
from windowing.model.file.pipeline import EventTime
from windowing.model.times import ISO as ISO_TIMES
from windowing.model.types import FieldType


@given(data=st.data())
def test_batches_and_single_values_decode_alike(data: st.DataObject) -> None:
    case = data.draw(cases())
    rules = ValueRules.of(parse_pipeline(case.pipeline))
    for lane in case.lanes:
        entries = [entry(event) for event in lane]
        rows = RawRows(
            offsets=[e.offset for e in entries],
            values=[e.value for e in entries],
            controls=[e.control for e in entries],
            append_us=[e.append_us for e in entries],
        )
        whole = pack(rows, rules)
        singly = [pack(rows.part(i, i + 1), rules) for i in range(len(entries))]
        assert whole.rows() == [row for one in singly for row in one.rows()]
        exact = packing._exact(rows, rules)
        assert whole.select(exact.columns).equals(exact, null_equal=True)


# Joined by commas, the parts of one value or several values in one could pass for clean ones.
PIECES = [
    b'{"ts":1,"k":"a","v":2}',
    b'{"ts":1,"k":"a"',
    b'"v":2}',
    b'{"ts":1,"k":"a',
    b'"}',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\n",
    b" ",
    b'{"ts":1,"k":"\xff","v":2}',
    b'{"ts":1,"k":"\\ud800","v":2}',
    b'{"ts":1,"ts":2,"k":"a","v":-0}',
]
PIECED = st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join)


@given(values=st.lists(PIECED | st.none() | st.binary(max_size=4), max_size=8))
@example(values=[PIECES[0] + b"," + PIECES[0], PIECES[1], PIECES[2]])
@example(values=[PIECES[0] + b",\n" + PIECES[0], PIECES[1], PIECES[2]])
@example(values=[PIECES[0] + PIECES[0], b""])
@example(values=[PIECES[0], PIECES[0] + b"]"])
def test_neighbours_do_not_change_what_a_value_is(values: list[bytes | None]) -> None:
    rules = strict_rules()
    nothing: list[None] = [None] * len(values)
    rows = RawRows(range(len(values)), values, nothing, nothing)
    exact = packing._exact(rows, rules)
    assert pack(rows, rules).select(exact.columns).equals(exact, null_equal=True)


def strict_rules() -> ValueRules:
    """Return rules that refuse unknown fields."""
    fields = {"k": FieldType("string"), "v": FieldType("int")}
    return ValueRules(EventTime(field="ts", unit="us"), fields, frozenset(), ignore_unknown=False)


# Numbers of decimals, which lie around their limits, and how texts of them may look.
DECIMALS = ["0", "-0", "0.0", "-0.00", "1.5", "-1.50", "1.100", "12.3456", "9.99", "10", "-10.000"]
DECIMALS += ["0.1", "999999999999999999", "99999999999999999.9", "1e1", "1E-1", "1e-400", "0e9"]
DECIMALS += [
    "9" * 38,
    "-" + "9" * 36 + ".99",
    "9" * 39,
    "0." + "0" * 37 + "1",
    "0e99999999999999999",
]
DECIMALS += ["1e99999999999999999999", "-1e-99999999999999999999", "1." + "0" * 50, "123456.7"]
DAYS = [
    "2024-02-29",
    "2023-02-29",
    "0001-01-01",
    "0000-01-01",
    "9999-12-31",
    "2024-1-01",
    "20240101",
]
DAYS += ["2024-01-01 ", "+024-01-01", "2024-13-01", "", "\u0662024-01-01"]
TYPES = st.sampled_from(["int", "float", "string", "bool", "timestamp", "date"]).map(FieldType)
TYPES |= st.sampled_from(
    [(1, 0), (3, 2), (4, 4), (12, 2), (18, 0), (19, 1), (38, 2), (38, 38)]
).map(lambda digits: FieldType("decimal", precision=digits[0], scale=digits[1]))
KINDS = {
    "int": st.integers(-(2**70), 2**70),
    "float": st.floats() | st.integers(-(10**25), 10**25),
    "string": st.text(max_size=4),
    "bool": st.booleans(),
    "decimal": st.sampled_from(DECIMALS),
    "timestamp": st.integers(-(10**6), 2 * 10**12),
    "date": st.sampled_from(DAYS),
}
# Spellings that an expression might take for a number, a time or a text that JSON has not.
ODD = ["01", "-0", "+1", "1.", ".5", "1e5", "1E-400", "1e999", "NaN", "true", "null", "1 ", '"1"']
ODD += [
    '"\\u0041"',
    '"a\\"b"',
    '"\x01"',
    "{}",
    "[1]",
    "9" * 18,
    "9" * 19,
    "-" + "9" * 401,
    "\u00e9",
]
ISO = ["2013-01-31T23:59:59", "2013-02-30T00:00:00Z", "2013-01-01T24:00:00Z", "0000-01-01T00:00:00"]
ISO += ["2013-01-01T00:00:00.5Z", "2013-01-01T00:00:60Z", "2013-01-01T00:00:00.1234567Z", "2013"]
ISO += ["2013-01-01T00:00:00+01:00", "2013-01-01 00:00:00", "9999-12-31T23:59:59.999999", ""]
ISO += ["2013-01-01t00:00z", "2000-02-29 00:00-0130", "1900-02-29T00:00", "0001-01-01T00:00+23:59"]
ISO += ["2013-01-01T00:00:00.123456789012+05", "2013-04-31T00:00", "2013-01-01T00:00+24", "x" * 16]
WRITTEN = ["31.03.2024 02:30:00", "27.10.2024 02:30:00", "1.3.2024 9:00:00", "29.02.2024 23:59:59"]
WRITTEN += ["31.12.9999 23:59:59", "01.01.0001 00:00:00", "01.03.2024 10:00:60", "01.03.2024 10:00"]
UNITS = [("us", False), ("ms", False), ("s", False), ("iso", False), ("ns", False)]
UNITS += [("us", True), ("ms", True), ("s", True)]
UNITS += [({"text": "%d.%m.%Y %H:%M:%S", "zone": "Europe/Berlin"}, False)]
FRACTIONS = [
    "0.5",
    "-0.0000001",
    "1700000000.1234567",
    "1e3",
    "-1.5e-9",
    "12345678901234567.8",
    "-0",
]


@st.composite
def sources(draw: st.DrawFn) -> ValueRules:
    """Rules of any source: paths, units, types, nullable fields, limits."""
    names = draw(declarations())
    kinds = st.tuples(TYPES, st.booleans())
    fields = {
        name: replace(type_, nullable=nullable)
        for name in names[draw(st.integers(0, 1)) :]
        for type_, nullable in [draw(kinds)]
    }
    ahead = draw(st.none() | st.integers(0, 10**6))
    unit, fraction = draw(st.sampled_from(UNITS))
    times = EventTime(field=names[0], unit=unit, fraction=fraction)
    if ahead is not None:
        times = times.model_copy(update={"max_ahead": f"{ahead} microseconds"})
    ints = [name for name, kind in fields.items() if kind == FieldType("int")]
    placed = frozenset(draw(st.sets(st.sampled_from(ints)))) if ints else frozenset()
    keys = frozenset(draw(st.sets(st.sampled_from([*fields])))) if fields else frozenset()
    return ValueRules(times, fields, keys, draw(st.booleans()), placed_by=placed)


def time_text(draw: st.DrawFn, rules: ValueRules) -> str:
    own = rules.event_time.spelling
    if own.is_text:
        return json.dumps(draw(st.sampled_from(ISO if own == ISO_TIMES else WRITTEN)))
    if own.fraction and draw(st.booleans()):
        return draw(st.sampled_from(FRACTIONS))
    return str(draw(st.integers(-(10**6), 2 * 10**18) | KINDS["int"]))


def spelling(draw: st.DrawFn, name: str, rules: ValueRules) -> str:
    if draw(st.integers(0, 30)) == 0:
        return draw(st.sampled_from(ODD))
    if name == rules.event_time.field:
        return time_text(draw, rules)
    type_ = rules.fields[name]
    if type_.nullable and draw(st.booleans()):
        return "null"
    if type_.kind == "timestamp":
        return time_text(draw, rules)
    value = draw(KINDS[type_.kind])
    if type_.kind == "decimal" and draw(st.booleans()):
        return str(value)
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def spelled_values(draw: st.DrawFn, rules: ValueRules) -> list[bytes | None]:
    """Many values that look alike, and a few that nearly do."""
    shape = draw(shapes(rules.tree, more=rules.ignore_unknown))
    values = list[bytes | None]()
    for _ in range(draw(st.integers(1, 12))):
        text = written(draw, shape, lambda name: spelling(draw, name, rules))
        text += draw(st.sampled_from([""] * 9 + [" ", "\n"]))
        values.append(text.encode("utf-8", "surrogatepass"))
    return values


@given(data=st.data())
def test_values_that_look_alike_are_read_by_the_rules(data: st.DataObject) -> None:
    rules = data.draw(sources())
    values = data.draw(spelled_values(rules))
    # As many as are worth looking for a shape: the first ones are what most look like.
    many = [values[0]] * 300 + values + [None, b"", b"\xff"]
    random.Random(data.draw(st.integers(0, 9))).shuffle(many)
    controls = [None] * (len(many) - 1) + [b'{"bound_us": 5}']
    append_us = data.draw(st.sampled_from([None, 0, 10**15]))
    rows = RawRows(range(len(many)), many, controls, [append_us] * len(many))
    exact = packing._exact(rows, rules)
    assert pack(rows, rules).select(exact.columns).equals(exact, null_equal=True)
