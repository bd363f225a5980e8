"""However queries come and go and records are batched, every schedule gives the same runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.research.slides.active import ActiveQueries, SlidingQuery
from windowing.research.slides.optimiser import Limits, optimise
from windowing.research.slides.schedules import SCHEDULES, Graph, Schedule

WAYS: dict[str, Callable[[], Schedule]] = {
    **SCHEDULES,
    "optimised": lambda: Graph(lambda tree: optimise(tree, Limits(passes=None)).tree),
}
SLIDES = st.integers(1, 30)


@st.composite
def courses(draw: st.DrawFn) -> list[tuple[int, list[int], list[int]]]:
    """Batches: how far each goes, and by their numbers the queries that join and leave before."""
    batches, active, number = [], list[int](), 0
    for _ in range(draw(st.integers(1, 8))):
        joining = [number + one for one in range(draw(st.integers(0, 4)))]
        number += len(joining)
        leaving = draw(st.lists(st.sampled_from(active), unique=True)) if active else []
        active = [one for one in active if one not in leaving] + joining
        batches.append((draw(st.integers(0, 40)), joining, leaving))
    return batches


def by_definition(active: list[SlidingQuery], after: int, until: int) -> list[tuple[int, str]]:
    """A query runs wherever its slide divides the distance from the origin."""
    return [
        (instant, query.id)
        for instant in range(after + 1, until + 1)
        for query in sorted(active, key=lambda one: (one.slide, one.id))
        if instant % query.slide == 0
    ]


@pytest.mark.parametrize("way", WAYS)
@given(course=courses(), slides=st.data(), start=st.integers(-50, 50), origin=st.integers(-9, 9))
def test_a_schedule_gives_the_runs_of_the_definition(
    way: str,
    course: list[tuple[int, list[int], list[int]]],
    slides: st.DataObject,
    start: int,
    origin: int,
) -> None:
    manager, known = ActiveQueries(WAYS[way](), origin), dict[int, SlidingQuery]()
    active: list[SlidingQuery] = []
    for length, joining, leaving in course:
        for number in leaving:
            manager.leave(known[number])
            active.remove(known[number])
        for number in joining:
            known[number] = SlidingQuery(f"q{number}", slides.draw(SLIDES))
            manager.join(known[number])
            active.append(known[number])
        found = [(instant, query.id) for instant, query in manager.due(start, start + length)]
        expected = by_definition(active, start - origin, start + length - origin)
        assert found == [(instant + origin, name) for instant, name in expected]
        start += length


@pytest.mark.parametrize("way", WAYS)
@given(slides=st.sets(SLIDES, min_size=1), first=st.integers(0, 99), second=st.integers(0, 99))
def test_a_schedule_goes_on_anywhere(way: str, slides: set[int], first: int, second: int) -> None:
    schedule = WAYS[way]()
    for slide in sorted(slides):
        schedule.add(slide)
    schedule.between(first, first + 20)
    due = schedule.between(second, second + 20)
    expected = [
        (instant, slide)
        for instant in range(second + 1, second + 21)
        for slide in sorted(slides)
        if instant % slide == 0
    ]
    assert [*zip(due.instants.tolist(), due.slides.tolist(), strict=True)] == expected
    if due.places is not None:
        assert [sorted(slides)[place] for place in due.places] == due.slides.tolist()


@given(slides=st.lists(SLIDES, min_size=1), after=st.integers(0, 50), length=st.integers(0, 99))
def test_the_timer_ticks_wherever_it_can_be_needed(
    slides: list[int], after: int, length: int
) -> None:
    manager = ActiveQueries()
    for number, slide in enumerate(slides):
        manager.join(SlidingQuery(f"q{number}", slide))
    runs = {instant for instant, _ in manager.due(after, after + length)}
    assert len(runs) <= manager.ticks(after, after + length) <= length


def test_what_is_wrong_with_a_change_is_said() -> None:
    manager = ActiveQueries()
    with pytest.raises(ValueError, match="query q has a slide of 0: use an integer from 1"):
        manager.join(SlidingQuery("q", 0))
    with pytest.raises(KeyError, match="query q with a slide of 3 is not active"):
        manager.leave(SlidingQuery("q", 3))
