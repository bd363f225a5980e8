"""Windows by policies: the recorded scenarios, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import spl
from conformance.drivers.spl_windows import judge
from conformance.spl import WindowCase, read_lines
from windowing.engine.rows.policies import (
    Event,
    IntervalWindow,
    ManualClock,
    Marker,
    PolicyError,
    Profile,
    Selection,
    SlidingWindow,
    TumblingWindow,
    WindowEvent,
    count,
    delta,
    partition_age,
    partition_count,
    punct,
    time,
)
from windowing.engine.rows.policies.clock import Deadlines

CASES = list(read_lines(Path("tests/data/spl/windows.jsonl"), WindowCase))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_recorded_scenarios_also_with_the_window_rebuilt_at_every_step(case: WindowCase) -> None:
    for verdict in judge(case):
        assert verdict.difference is None, verdict.line()


def test_a_judge_tells_an_event_that_is_missing_doubled_or_changed() -> None:
    case = next(c for c in CASES if c.expected and c.profile == "paper")
    for spoil in (
        lambda events: events[1:],
        lambda events: [*events, events[-1]],
        lambda events: [{**events[0], "partition": "another"}, *events[1:]],
    ):

        def drive(case: WindowCase, profile: str, spoil: object = spoil) -> tuple[list, dict]:
            return spoil(case.expected), case.final or {}  # type: ignore[operator]

        (verdict,) = spl.judge_window(case, drive, "spoilt")
        assert verdict.difference is not None


def reported(window: SlidingWindow) -> list[list[int]]:
    """What a window reports, as lists of `value`."""
    seen: list[list[int]] = []
    full: list[bool] = []
    window.on(Event.initial_full, lambda _: full.append(True))

    def trigger(event: WindowEvent) -> None:
        if full:
            seen.append([row["value"] for row in window.rows(event.key) or []])

    window.on(Event.trigger, trigger)
    return seen


def test_figure_2_of_the_paper() -> None:
    by_count = SlidingWindow(count(2), count(1))
    by_delta = SlidingWindow(delta("value", 1), delta("value", 0))
    of_count, of_delta = reported(by_count), reported(by_delta)
    for value in range(1, 7):
        by_count.insert({"value": value})
        by_delta.insert({"value": value})
    assert of_count == [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6]]
    assert of_delta == [[1, 2], [2, 3], [3, 4], [4, 5]]


@pytest.mark.parametrize(
    ("selection", "gone"),
    [
        (Selection.lru, "b"),
        (Selection.lfu, "d"),  # the newcomer has the fewest inserts of all, and goes at once
        (Selection.oldest, "a"),
    ],
)
def test_which_partition_is_given_up(selection: Selection, gone: str) -> None:
    clock = ManualClock()
    evicts = partition_count(3, selection)
    window = TumblingWindow(count(9), partition_by="k", partition_eviction=evicts, clock=clock)
    for key in "abbaaccad":
        clock.now_us += 1
        window.insert({"k": key})
    assert {*"abcd"} - {*window.keys} == {gone}


def test_a_handler_is_replaced_and_gives_the_old_one_back() -> None:
    window, seen = TumblingWindow(count(1)), list[str]()
    first, second = (lambda _: seen.append("first")), (lambda _: seen.append("second"))
    assert window.on(Event.before_flush, first) is None
    window.insert({})
    assert window.on(Event.before_flush, second) is first
    window.insert({})
    assert window.on(Event.before_flush, None) is second
    window.insert({})
    assert seen == ["first", "second"]


def test_window_access() -> None:
    window = TumblingWindow(count(9), partition_by=("k", "g"))
    for number in range(4):
        window.insert({"k": number % 2, "g": "x", "n": number})
    assert {key: [row["n"] for row in rows] for key, rows in window} == {
        (0, "x"): [0, 2],
        (1, "x"): [1, 3],
    }
    assert (len(window), window.size((0, "x")), window.rows((2, "x"))) == (4, 2, None)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: count(-1), "zero or more"),
        (lambda: count(True), "whole number"),
        (lambda: delta("v", -1), "threshold"),
        (lambda: time(0), "more than zero"),
        (lambda: SlidingWindow(punct(), count(1)), "no eviction"),
        (lambda: SlidingWindow(count(1), punct()), "no trigger"),
        (lambda: TumblingWindow(count(1), partition_eviction=partition_age(1)), "partition_by"),
        (lambda: TumblingWindow(count(1)).punctuate(Marker.window), "punctuation"),
        (lambda: SlidingWindow(count(1), count(1)).punctuate(Marker.final), "punctuation"),
        (lambda: TumblingWindow(count(1)).on("flush", print), "no window event"),
        (lambda: IntervalWindow("t", 0), "duration"),
        (lambda: IntervalWindow("t", 5, offset=-1), "offset"),
    ],
)
def test_what_no_window_can_have(build: object, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        build()  # type: ignore[operator]


def test_of_equal_deadlines_the_one_that_was_set_first_comes_first() -> None:
    """Whatever is set again as it was keeps its place."""
    deadlines = Deadlines()
    for key in (("a",), ("b",), ("a",)):
        deadlines.put(key, 5)
    assert deadlines.earliest() == (5, ("a",))
    deadlines.put(("a",), 5, rank=9)
    assert deadlines.earliest() == (5, ("b",))


@pytest.mark.parametrize(
    ("profile", "evicted"), [(Profile.paper, [("a",)]), (Profile.osstreams, [])]
)
def test_who_chooses_partitions_and_is_not_there(
    profile: Profile, evicted: list[tuple[object, ...]]
) -> None:
    """The least recently updated goes instead; the library evicts nothing (D14)."""
    window = SlidingWindow(
        count(9),
        count(1),
        partition_by="k",
        partition_eviction=partition_count(1, Selection.user),
        profile=profile,
    )
    seen: list[tuple[object, ...]] = []
    window.on(Event.partition_eviction, lambda event: seen.append(event.victims))
    for key in "ab":
        window.insert({"k": key})
    assert seen == evicted
