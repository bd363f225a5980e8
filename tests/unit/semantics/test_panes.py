"""Interval windows: the engine shows what is defined, and what the library's runs recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from conformance.drivers.spl_windows import drive
from conformance.spl import InsertCase, Logged, WatermarkCase, WindowCase, read_lines
from tests.strategies.policy_scenarios import interval_cases
from windowing.semantics.windows.panes import Arrival, Panes, PaneShown, Watermark, evaluate

RECORDED = [
    case
    for case in read_lines(Path("tests/data/spl/windows.jsonl"), WindowCase)
    if case.interval is not None
]


def defined(case: WindowCase) -> list[PaneShown]:
    assert case.interval is not None
    lengths = case.interval
    window = Panes(
        lengths.interval_duration,
        lengths.creation_period or lengths.interval_duration,
        lengths.interval_offset,
        lengths.discard_age,
    )
    operations: list[Arrival | Watermark] = []
    for step in case.input:
        if isinstance(step, InsertCase):
            operations.append(Arrival(int(step.value), step.partition))
        else:
            # Others, such as punctuations, mean nothing: a watermark that does not advance.
            operations.append(Watermark(step.value if isinstance(step, WatermarkCase) else 0))
    return evaluate(window, operations)


def logged(case: WindowCase, events: Sequence[Logged]) -> list[PaneShown]:
    """The events of a log that watermarks cause."""
    steps = [n for n, step in enumerate(case.input) if isinstance(step, InsertCase)]
    return [
        PaneShown(
            event["step"],
            event["event"],
            event["pane"][0],
            event["partition"],
            tuple(steps[number - 1] for number in event["window"]),
            event.get("index", 0),
        )
        for event in events
        if event["event"] in ("initialFull", "trigger", "beforeClose")
    ]


def by_place(shown: Sequence[PaneShown]) -> dict[Any, list[Any]]:
    """The order between panes and partitions is open; a log numbers only reports."""
    places: dict[Any, list[Any]] = {}
    for one in sorted(shown, key=lambda one: one.step):
        report = one.report if one.kind == "trigger" else None
        place = places.setdefault((one.step, one.start, one.key), [])
        place.append((one.kind, one.tuples, report))
    return places


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.id)
def test_recorded_panes_are_as_defined(case: WindowCase) -> None:
    assert by_place(logged(case, case.expected)) == by_place(defined(case))


@given(case=interval_cases())
def test_the_engines_panes_are_as_defined(case: WindowCase) -> None:
    events, _ = drive(case, "paper")
    assert by_place(logged(case, events)) == by_place(defined(case))


def test_no_pane_begins_at_zero() -> None:
    """An oddity of the library, which its extension has in both profiles."""
    window = Panes(duration=5, period=5, offset=0, discard_age=0)
    assert evaluate(window, [Arrival(0, None), Arrival(3, None), Watermark(5)]) == []
