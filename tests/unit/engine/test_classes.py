"""Every class of windows on the local engine: the definition's bytes, however the log comes.

One run has it all: another interleaving, other cuts, redelivered batches, and a restart from a
checkpoint with the log cut anew. Repeated rows are equal to the byte, or a sink would keep two.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import KINDS, Case, any_thresholds, cases, entry, interleavings, lane_of
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import ArrivalOrder, TooManyWindows
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.units import ArrivalOrderError
from windowing.semantics.windows.landmark import EndlessLandmarkError

_CLASSES = [kind for kind in KINDS if kind != "sliding"]
_OVER_A_VALUE = [(kind, True) for kind in KINDS if "row" not in kind]
# The sliding ones have their own tests; the other classes share the time that one would have.
_EXAMPLES = max(settings.default.max_examples // 10, 3) if settings.default else 3
_BATCH_ROWS = st.sampled_from([1, 3, 7, 8, 20, 50])


@pytest.mark.parametrize(("kind", "number"), [*product(_CLASSES, [False]), *_OVER_A_VALUE])
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_engine_equals_definition(kind: str, data: st.DataObject, *, number: bool) -> None:
    check(data.draw(cases(kind=kind, wide=True, number=number)), data=data)


@any_thresholds
def check(case: Case, *, data: st.DataObject) -> None:
    """Compare the engine with the definition."""
    pipeline = parse_pipeline(case.pipeline)
    try:
        outcome = evaluate(pipeline, map(entry, case.events))
    except ArrivalOrderError:
        expected = None
    else:
        expected = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    first_rows, second_rows = (data.draw(_BATCH_ROWS) for _ in range(2))
    restarted = data.draw(st.integers(0, len(log)))
    engine = LocalEngine(pipeline)
    try:
        for batch in batches(log[:restarted], first_rows, pipeline):
            engine.feed(batch)
            if data.draw(st.integers(0, 5)) == 0:
                engine.feed(batch)
        checkpoint = engine.snapshot()
        for batch in batches(log[restarted:], first_rows, pipeline):
            engine.feed(batch)
        engine.restore(checkpoint)
        for batch in batches(log[restarted:], second_rows, pipeline):
            engine.feed(batch)
    except ArrivalOrder:
        assert expected is None
        return
    found = [
        *row_lines(engine.output.rows),
        *dead_letter_lines(engine.output.dead_letters),
    ]
    assert expected is not None
    assert sorted(set(found)) == sorted(expected)


def test_a_time_that_leaps_ahead_gives_an_error_and_not_a_billion_landmark_windows() -> None:
    pipeline = parse_pipeline(
        "name: leap\n"
        "source:\n"
        "  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},\n"
        "   disorder: ordered}\n"
        "queries:\n"
        "  q: {window: RANGE LANDMARK SLIDE 6 us WATTR ts, aggregates: {n: count}}\n"
    )
    log = lane_of({"value": {"ts": ts}} for ts in (1, 10**17))
    with pytest.raises(EndlessLandmarkError, match=r"query q: .* 16,666,666,666,666,6.* max_ahead"):
        evaluate(pipeline, log)
    (batch,) = batches(log, 10)
    with pytest.raises(TooManyWindows, match=r"query q: 16,666,666,666,666,6.* max_ahead"):
        LocalEngine(pipeline).feed(batch)
