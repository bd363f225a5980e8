"""Records that a user's class refuses: dead letters of one query, by engine and definition."""

from __future__ import annotations

import json

import pytest

from tests.strategies import Entry
from windowing.engine.reading.batches import batches
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import Draft, Step, steps_of
from windowing.engine.reading.values import Reading
from windowing.model import Pipeline, parse_pipeline
from windowing.model.registry import PluginError
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.user.user_aggregate import UserAggregateError
from windowing.runtime.local import run
from windowing.semantics import evaluate

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


def _log() -> list[Entry]:
    values = [1, 3, 2, None, 6, 7, 8, 9, 4, 5, 12, 1]
    times = [0, 4, 7, 9, 8, 3, 12, 14, 15, 20, 22, 30]
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


def test_a_class_that_raises_is_named_with_the_place_and_the_remedy() -> None:
    query = "{window: RANGE 9 us SLIDE 9 us WATTR ts, aggregates: {a: 'python:HERE:Raises(v)'}}"
    pipeline, log = _pipeline(query.replace("HERE", __name__)), _log()
    for found in (
        lambda: run(pipeline, batches(log, 3, pipeline)),
        lambda: run(pipeline, batches(log, 3, pipeline), fused=True),
        lambda: evaluate(pipeline, log),
    ):
        with pytest.raises(UserAggregateError) as raised:
            found()
        said = str(raised.value)
        assert ", at partition 0, offset 4; " in said
        assert "Raises: update(" in said
        assert "6) failed: ZeroDivisionError" in said
        assert "static check(value)" in said


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


class Raises:
    """Fails for a six."""

    returns = "int"

    def init(self) -> int:
        return 0

    def update(self, state: int, value: int) -> int:
        return state + 1 // (value - 6)

    def merge(self, left: int, right: int) -> int:
        return left + right

    def result(self, state: int) -> int:
        return state
