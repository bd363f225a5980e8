"""SECRET on small inputs, with reports that were worked out by hand."""

from __future__ import annotations

import pytest

from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Pick,
    Report,
    StreamTuple,
    Tick,
    Windows,
)
from windowing.research.engines.profiles import UnknownEngineError, profile_of
from windowing.research.engines.simulation import simulate

CLOSED = Report(non_empty=True, window_close=True)


def stream(*times: int, batches: list[int] | None = None) -> list[StreamTuple]:
    bids = batches or list(range(1, len(times) + 1))
    return [
        StreamTuple(n, n, time, bid)
        for n, (time, bid) in enumerate(zip(times, bids, strict=True), 1)
    ]


def contents(
    behaviour: Behaviour, windows: Windows, tuples: list[StreamTuple]
) -> list[tuple[int | None, tuple[int, ...]]]:
    return [(one.arrival, one.content) for one in simulate(behaviour, windows, tuples)]


def test_the_active_window_is_the_oldest_open_one() -> None:
    windows = Windows(Domain.time, size=4, slide=2, start=0)
    assert [windows.low(instant) for instant in range(-1, 9)] == [
        *(None, 0, 0, 0, 0, 0, 2, 2, 4, 4),
    ]


def test_a_gap_between_windows_is_in_no_window() -> None:
    windows = Windows(Domain.time, size=2, slide=5, start=0)
    # (0, 2], (5, 7]: from 3 to 5, the lower bound is not below the instant.
    assert [windows.low(instant) for instant in (2, 3, 5, 6, 8)] == [0, 5, 5, 5, 10]


def test_a_closed_window_is_shown_by_the_first_tuple_beyond_it() -> None:
    windows = Windows(Domain.time, size=3, slide=3, start=8)
    found = contents(Behaviour(Tick.time, CLOSED), windows, stream(10, 11, 11, 12, 17))
    assert found == [(4, (1, 2, 3)), (5, (4,))]


def test_an_engine_that_shows_empty_windows_shows_them_in_a_gap() -> None:
    windows = Windows(Domain.time, size=2, slide=2, start=0)
    found = contents(Behaviour(Tick.time, Report(window_close=True)), windows, stream(1, 7))
    assert found == [(2, (1,)), (2, ()), (2, ())]


def test_open_windows_are_shown_at_the_end_by_an_engine_that_flushes() -> None:
    windows = Windows(Domain.time, size=4, slide=2, start=-1)
    behaviour = Behaviour(Tick.time, CLOSED, flush=True)
    assert contents(behaviour, windows, stream(1, 2)) == [(None, (1, 2)), (None, (2,))]


def test_content_change_needs_another_content() -> None:
    windows = Windows(Domain.time, size=10, slide=10, start=0)
    report = Report(content_change=True, non_empty=True)
    found = contents(Behaviour(Tick.tuple, report), windows, stream(1, 4, 5))
    # At 1, 2 and 3 the content is {1}: it is shown once.
    assert found == [(2, (1,)), (3, (1, 2))]


def test_a_period_is_of_instants() -> None:
    windows = Windows(Domain.time, size=10, slide=10, start=0)
    found = simulate(Behaviour(Tick.time, Report(period=3)), windows, stream(1, 8))
    assert [one.instant for one in found] == [0, 3, 6]


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        (Pick.largest, [(5, (3, 4))]),
        (Pick.smallest, [(5, (1, 2))]),
        (Pick.all, [(5, (1, 2)), (5, (3, 4))]),
    ],
)
def test_pick_chooses_among_the_tuple_windows_of_one_tick(
    pick: Pick, expected: list[tuple[int, tuple[int, ...]]]
) -> None:
    windows = Windows(Domain.tuple, size=2, slide=2, start=0)
    tuples = stream(1, 1, 1, 1, 2)
    assert contents(Behaviour(Tick.time, CLOSED, pick), windows, tuples) == expected


def test_a_batch_driven_tick_leaves_out_the_new_batch() -> None:
    windows = Windows(Domain.time, size=10, slide=10, start=0)
    tuples = stream(1, 2, 3, 4, batches=[1, 1, 2, 2])
    found = contents(Behaviour(Tick.batch, Report(non_empty=True)), windows, tuples)
    assert found == [(3, (1,)), (3, (1, 2))]


def test_a_batch_end_tick_holds_its_own_batch_up_to_the_watermark() -> None:
    windows = Windows(Domain.time, size=2, slide=2, start=-1)
    tuples = stream(0, 1, 2, 5, batches=[1, 1, 1, 2])
    assert contents(Behaviour(Tick.batch_end, CLOSED), windows, tuples) == [
        (3, (1, 2)),
        (4, (3,)),
    ]
    late = Behaviour(Tick.batch_end, CLOSED, delay=2)
    assert contents(late, windows, tuples) == [(4, (1, 2))]


def test_a_batch_end_tick_with_batches_of_one_is_a_time_driven_one() -> None:
    windows = Windows(Domain.time, size=5, slide=3, start=-2)
    tuples = stream(1, 1, 2, 6, 7, 7, 20)
    behaviours = [Behaviour(tick, CLOSED) for tick in (Tick.batch_end, Tick.time)]
    first, second = (contents(behaviour, windows, tuples) for behaviour in behaviours)
    assert first == second != []


def test_the_simulators_rounding_shows_an_empty_window_of_size_one() -> None:
    spark = profile_of("spark16")
    windows = spark.windows(Domain.tuple, 1, 1, 5)
    tuples = stream(5, 6)
    assert contents(spark.operator(Domain.tuple).behaviour, windows, tuples)[0] == (1, ())
    exact = Behaviour(Tick.time, Report(window_close=True))
    assert contents(exact, windows, tuples) == [(2, (1,))]


def test_an_engine_without_such_windows_says_so() -> None:
    with pytest.raises(UnknownEngineError, match="Azure Stream Analytics has no tuple windows"):
        profile_of("azure").operator(Domain.tuple)


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"report": Report(), "flush": True}, "reports closed windows"),
        ({"report": CLOSED, "delay": 1}, "batch-end tick"),
        ({"report": CLOSED, "delay": -1}, "negative"),
    ],
)
def test_a_behaviour_without_meaning_is_refused(parts: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Behaviour(Tick.time, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "slide"), [(0, 1), (1, 0)])
def test_windows_without_length_are_refused(size: int, slide: int) -> None:
    with pytest.raises(ValueError, match="is not positive"):
        Windows(Domain.time, size, slide, 0)


def test_windows_of_the_product_start_at_multiples_of_the_slide() -> None:
    flink = profile_of("Flink-Real")
    # Flink 1.6.0 printed, for size 10, slide 2 and first time 1, [-8, 2) as its first window.
    assert flink.windows(Domain.time, 10, 2, 1).start + 1 == -8


def test_a_batch_end_engine_that_flushes_shows_open_windows_at_the_end() -> None:
    behaviour = Behaviour(Tick.batch_end, CLOSED, flush=True)
    windows = Windows(Domain.time, size=4, slide=2, start=-3)
    # (-3, 1] and (-1, 3] end before 4, the newest time; (1, 5] and (3, 7] are still open.
    found = contents(behaviour, windows, stream(1, 2, 4, batches=[1, 2, 2]))
    assert found == [(3, (1,)), (3, (1, 2)), (None, (2, 3)), (None, (3,))]
