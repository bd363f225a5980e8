"""The rules of products beyond SECRET, on inputs small enough to do by hand."""

from __future__ import annotations

import pytest

from windowing.research.engines.products import (
    Element,
    Firing,
    beam_windows,
    flink_sessions,
    flink_windows,
    kafka_sessions,
)


def elements(*times: int, watermark_after: int = 0, watermark: int = 0) -> list[Element]:
    return [
        Element(number, time, None, watermark if number == watermark_after else None)
        for number, time in enumerate(times, start=1)
    ]


@pytest.mark.parametrize(
    ("lateness", "expected"),
    [
        # The window's last instant is 9: at watermark 12, it is kept up to a lateness above 3.
        (3, [Firing(0, 10, (1,), None)]),
        (4, [Firing(0, 10, (1,), None), Firing(0, 10, (1, 2), None)]),
    ],
)
def test_flink_drops_at_equality(lateness: int, expected: list[Firing]) -> None:
    stream = elements(5, 6, watermark_after=1, watermark=12)
    assert [*flink_windows(stream, 10, 10, lateness)] == expected


def test_flink_fires_the_windows_of_a_late_element_from_the_newest() -> None:
    stream = elements(5, 5, watermark_after=1, watermark=30)
    starts = [fired.start for fired in flink_windows(stream, 10, 5, 100)]
    assert starts == [0, 5, 5, 0]


def test_a_gap_that_slide_leaves_between_windows_drops_elements() -> None:
    assert [*flink_windows(elements(1, 4, 7), 2, 7, 0)] == [
        Firing(0, 2, (1,), None),
        Firing(7, 9, (3,), None),
    ]


def test_sessions_that_touch_are_one_in_flink() -> None:
    assert [*flink_sessions(elements(0, 10), 10, 0)] == [Firing(0, 20, (1, 2), None)]
    assert len([*flink_sessions(elements(0, 11), 10, 0)]) == 2


def test_a_late_element_lives_on_in_a_session_that_is_not_late() -> None:
    # 5 alone would end at 15, behind the watermark; merged with 12, it ends at 22.
    stream = elements(12, 5, watermark_after=1, watermark=18)
    assert [*flink_sessions(stream, 10, 0)] == [Firing(5, 22, (1, 2), None)]


def test_kafka_withdraws_a_session_before_it_grows() -> None:
    assert [*kafka_sessions(elements(1, 3), 5)] == [
        Firing(1, 1, (1,), None),
        Firing(1, 1, (), None),
        Firing(1, 3, (1, 2), None),
    ]


@pytest.mark.parametrize(("accumulating", "late"), [(True, (1, 2)), (False, (2,))])
def test_a_late_pane_of_beam_holds_all_or_what_is_new(
    accumulating: bool, late: tuple[int, ...]
) -> None:
    stream = elements(5, 6, watermark_after=1, watermark=11)
    found = [*beam_windows(stream, 10, 10, 2, accumulating=accumulating)]
    assert found == [Firing(0, 10, (1,), None), Firing(0, 10, late, None)]
    assert len([*beam_windows(stream, 10, 10, 1, accumulating=accumulating)]) == 1
