"""Reading a batch at once gives what reading value by value gives."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import cases, entry
from windowing.engine.input import pack as packing
from windowing.engine.input.pack import RawRows, pack
from windowing.engine.input.values import ValueRules
from windowing.model import parse_pipeline
from windowing.model.file.pipeline import EventTime


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
    fields = {"k": ("string", False), "v": ("int", False)}
    return ValueRules(EventTime(field="ts", unit="us"), fields, frozenset(), ignore_unknown=False)
