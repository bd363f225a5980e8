"""Reading a batch at once gives what reading value by value gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import cases, entry
from windowing.engine.input import pack as packing
from windowing.engine.input.pack import RawRows, pack
from windowing.engine.input.values import ValueRules
from windowing.model import parse_pipeline


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
