"""Records that a user's class refuses: dead letters of one query, by engine and definition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import Entry
from windowing.engine.reading.batches import batches
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import Draft, Step, steps_of
from windowing.engine.reading.values import Reading
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.registry import PluginError
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.trace import trace
from windowing.semantics.why import WindowRef, why
from windowing.semantics.why_words import Explanation

PICKY = "python:chaos.simulator.draw.swing:PickySwing"
CLASSES = (
    "RANGE 10 us SLIDE 5 us WATTR ts ORIGIN 6 us",
    "SESSION 4 us WATTR ts",
    "SESSION 2 rows WATTR row_num",
    "RANGE 3 rows SLIDE 2 rows WATTR row_num",
    "RANGE 3 rows SLIDE 2 rows WATTR row_num ORDER event_time",
    "RANGE LANDMARK SLIDE 5 us WATTR ts",
    "RANGE 8 us RATTR ts SATTR row_num SLIDE 1 row",
    "RANGE 8 us RATTR ts SATTR row_num SLIDE 2 rows",
    "RANGE 8 us RATTR ts SATTR rank(ts) SLIDE 2 rows",
)
OPERATOR = "{operator: aggregate, window: TUMBLING count(3), aggregates: {a: 'PICKY(v)'}}"


def _pipeline(query: str, *, late: str = "dead_letter") -> Pipeline:
    return parse_pipeline(
        "name: p\n"
        "source:\n"
        "  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},\n"
        "   fields: {v: 'int?'}, disorder: {slack: 2 us}}\n"
        f"late: {{policy: {late}}}\n"
        "shards: 2\n"
        "queries:\n"
        f"  picky: {query}\n"
        "  plain: {window: RANGE 10 us SLIDE 5 us WATTR ts, aggregates: {n: count, t: sum(v)}}\n"
    )


VALUES = [1, 3, 2, None, 6, 7, 8, 9, 4, 5, 12, 1]
TIMES = [0, 4, 7, 9, 8, 3, 12, 14, 15, 20, 22, 30]


def _log(values: Sequence[int | None] = VALUES, times: Sequence[int] = TIMES) -> list[Entry]:
    entries = [
        Entry("s", 0, offset, json.dumps({"ts": ts, "v": v}).encode(), None, None)
        for offset, (ts, v) in enumerate(zip(times, values, strict=True))
    ]
    return [*entries, Entry("s", 0, len(entries), None, b'{"end": true}', None)]


@pytest.mark.parametrize("late", ["dead_letter", "drop"])
@pytest.mark.parametrize(
    ("query", "fused"), [(CLASSES[0], True), *((one, False) for one in (*CLASSES, OPERATOR))]
)
def test_refused_records_are_dead_letters_of_their_query(
    query: str, late: str, *, fused: bool
) -> None:
    written = (
        query.replace("PICKY", PICKY)
        if query is OPERATOR
        else f"{{window: {query}, aggregates: {{n: count, a: '{PICKY}(v)'}}}}"
    )
    pipeline, log = _pipeline(written, late=late), _log()
    expected = evaluate(pipeline, log)
    for rows in (1, 5, 100):
        found = run(pipeline, batches(log, rows, pipeline), fused=fused)
        assert [*row_lines(found.rows)] == [*row_lines(expected.rows)]
        assert [*dead_letter_lines(found.dead_letters)] == [*dead_letter_lines(expected.dead)]
        assert found.counts == expected.counts
    picky = [letter for letter in expected.dead if letter.query == "picky"]
    refused = [letter.offset for letter in picky if letter.reason == "refused_by:a"]
    # Before the origin, at offset 1, no window asks the class.
    assert refused == ([4, 7, 10] if "ORIGIN" in query else [1, 4, 7, 10])
    assert all(letter.reason == "late" for letter in expected.dead if letter.query == "plain")
    assert expected.counts["plain"].total == expected.counts["picky"].total == 12


@pytest.mark.parametrize("query", [*CLASSES, OPERATOR])
@settings(max_examples=4)
@given(data=st.data())
def test_a_class_that_fails_stops_neither_other_records_nor_other_rows(
    query: str, data: st.DataObject
) -> None:
    """In a record, when states meet, in a result; and sums that leave int64 and come back."""
    brittle = f"python:{__name__}:Brittle"
    written = (
        query.replace("PICKY", brittle)
        if query is OPERATOR
        else f"{{window: {query}, aggregates: {{n: count, a: '{brittle}(v)', t: sum(v)}}}}"
    )
    pipeline = _pipeline(written)
    values = data.draw(st.lists(st.sampled_from([*range(-9, 10), None]), min_size=1, max_size=25))
    steps = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    log = _log(values, list(accumulate(steps)))
    expected = evaluate(pipeline, log)
    found = run(pipeline, batches(log, data.draw(st.integers(1, 9)), pipeline))
    assert [*row_lines(found.rows)] == [*row_lines(expected.rows)]
    assert [*dead_letter_lines(found.dead_letters)] == [*dead_letter_lines(expected.dead)]
    assert found.counts == expected.counts


def test_what_brittle_does_is_met_by_one_log() -> None:
    """Of the test above: it would pass if nothing failed."""
    brittle = f"python:{__name__}:Brittle(v)"
    query = f"{{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{a: '{brittle}'}}}}"
    values = [6, 1, 1, 2, 2, 2, 2, 9, -8, 4, 3, 5, 5, 5, 5]
    times = [0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 16, 20, 20, 20, 20]
    pipeline, log = _pipeline(query), _log(values, times)
    found = run(pipeline, batches(log, 3, pipeline))
    shown = [(row.values["a"], row.overflow) for row in found.rows if row.query == "picky"]
    assert shown == [
        (2 * STEP, ()),  # and 6 is refused
        (None, ("a",)),  # four twos: the sum leaves int64
        (STEP, ()),  # 9 and -8: states beyond int64 come back
        (None, ("a",)),  # 4: no result
        (3 * STEP, ()),
        (None, ("a",)),  # more than three fives fail together
    ]
    letters = [(one.offset, one.reason) for one in found.dead_letters if one.query == "picky"]
    assert letters == [(0, "refused_by:a")]

    def said(wid: int) -> str:
        query = next(one for one in pipeline.of(Query) if one.name == "picky")
        return "\n".join(
            Explanation(pipeline, why(pipeline, WindowRef(query, wid, None, ()), log)).lines()
        )

    assert "1 record within it is refused by a class:\n  s/0 offset 0, " in said(0)
    assert "refused_by:a: ZeroDivisionError" in said(0)
    assert "closed, due at " in said(1)
    assert "null: a: python:" in said(1)
    assert f"gave {8 * STEP}, which does not fit 64 bits" in said(1)
    assert "too many fives, at partition 0, offset 14" in said(5)


class BrittleHandler:
    """Fails for an eight, behind what it has sent, and at the end of a window that has a three."""

    def on_insert(self, key: object, row: object, rows: Sequence[dict[str, int]]) -> Any:
        yield {"a": len(rows), "b": "in"}
        yield {"a": 1 // (rows[-1]["v"] - 8), "b": "more"}

    def on_flush(self, key: object, rows: Sequence[dict[str, int]]) -> Any:
        return [{"a": 1 // all(row["v"] != 3 for row in rows), "b": "end"}]


def _handled() -> Pipeline:
    own = f"python:{__name__}:BrittleHandler"
    outputs = "{a: int, b: string}"
    return _pipeline(f"{{operator: '{own}', window: TUMBLING count(2), outputs: {outputs}}}")


def test_a_handler_that_fails_sends_a_row_that_says_so_and_stops_nothing() -> None:
    pipeline, log = _handled(), _log([8, 1, 3, 2], [0, 1, 2, 3])
    found = run(pipeline, batches(log, 3, pipeline)).rows
    shown = [(row.values, row.overflow, row.records) for row in found if row.query == "picky"]
    failed = {"a": None, "b": None}
    assert shown[:3] == [
        (failed, ("a", "b"), 1),
        ({"a": 2, "b": "in"}, (), 2),
        ({"a": -1, "b": "more"}, (), 2),
    ]
    assert shown[3] == ({"a": 1, "b": "end"}, (), 2)
    assert shown[-1] == (failed, ("a", "b"), 2)
    told = next(line["sent"]["picky"] for line in trace(pipeline, log) if "sent" in line)
    assert "ZeroDivisionError" in told[0]["failed"]


@settings(max_examples=15)
@given(st.lists(st.sampled_from([1, 2, 3, 8, None]), max_size=10), st.integers(1, 9))
def test_engine_and_definition_agree_where_handlers_fail(
    values: list[int | None], size: int
) -> None:
    pipeline, log = _handled(), _log(values, [*range(len(values))])
    found = run(pipeline, batches(log, size, pipeline)).rows
    assert [*row_lines(found)] == [*row_lines(evaluate(pipeline, log).rows)]


class Odd(Step):
    def exact(self, draft: Draft) -> None:
        1 // (draft.ts_us - 8)


def test_a_step_of_a_plug_in_that_raises_is_named_with_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("windowing.engine.reading.values.steps_of", lambda _: [*STEPS, Odd()])
    monkeypatch.setattr(Reading, "uniform", lambda *_: None)
    monkeypatch.setattr(Reading, "clean", lambda *_: None)
    pipeline = _pipeline("{window: RANGE 9 us SLIDE 9 us WATTR ts, aggregates: {n: count}}")
    STEPS[:] = steps_of(ValueRules.of(pipeline))
    with pytest.raises(PluginError, match=r"offset 4: reading .*ZeroDivisionError.*BadValue"):
        run(pipeline, batches(_log(), 100, pipeline))


STEPS: list[Step] = []


STEP = 2**61


class Brittle:
    """Adds large numbers; fails for a six, for more than three fives, and where the sum is four."""

    returns = "int"

    def init(self) -> list[int]:
        return [0, 0]

    def update(self, state: list[int], value: int) -> list[int]:
        1 // (value - 6)
        return self.merge(state, [value * STEP, int(value == 5)])

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        fives = left[1] + right[1]
        if fives > 3:
            msg = "too many fives"
            raise SystemExit(msg)
        return [left[0] + right[0], fives]

    def result(self, state: list[int]) -> int:
        return state[0] + 1 // (state[0] - 4 * STEP) * 0
