"""Every class of windows: extents and memberships are inverse; the laws of generators."""

import math
from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from windowing.model.emission import Late
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Query
from windowing.model.progress import (
    Adaptive,
    Delays,
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
)
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window
from windowing.semantics.controls import Bound, Observation
from windowing.semantics.generators import generator
from windowing.semantics.lanes import Lane
from windowing.semantics.revisions import revisions
from windowing.semantics.units import Item
from windowing.semantics.windows import landmark, tuples
from windowing.semantics.windows.classes import extents_of

values = st.lists(st.integers(-20, 40), min_size=1, max_size=30)
LENGTHS = st.integers(1, 12)


def query(window: Window, late: Late | None = None) -> Query:
    return Query(
        name="q",
        window=window,
        group_by=(),
        aggregates=(Aggregate("n", "count"),),
        late=late or Late(policy="drop"),
        retention_us=None,
    )


def items(stream: list[int], disorder: Disorder) -> tuple[list[Item], Lane]:
    """One lane that ends."""
    lane, found = Lane("s/0", disorder), []
    for offset, value in enumerate(stream):
        found.append(Item(value, "s", 0, offset, lane.progress, {}))
        lane.record(value, {})
    lane.control("end")
    return found, lane


_SLIDES = st.integers(1, 4)
_WITH_EXTENTS = st.one_of(
    st.builds(Sliding, LENGTHS, _SLIDES, st.just("ts")),
    st.builds(Landmark, _SLIDES, st.just("ts")),
    st.builds(RowWindow, LENGTHS, _SLIDES),
    st.builds(SlideByTuple, LENGTHS, st.just("ts")),
    st.builds(SlideByN, LENGTHS, _SLIDES, st.just("ts")),
    st.builds(SlideByRank, LENGTHS, _SLIDES, st.just("ts")),
)


@given(stream=values, window=_WITH_EXTENTS)
def test_a_sorted_stream_is_held_exactly_by_the_extents(stream: list[int], window: Window) -> None:
    """Nothing is late here, so each window that is shown holds all that its extent spans."""
    found, lane = items(sorted(stream), Slack(0))
    shown = revisions(query(window), found, [lane])
    numbers = dict(zip(found, range(len(found)), strict=True))
    by_rows = isinstance(window, RowWindow)
    for row in shown:
        assert extents_of(query(window)).extent(row.wid) == (row.start, row.end)
        position = numbers if by_rows else {i: i.value for i in found}
        low, high = (row.start, row.end) if window.traits.on_grid else (row.start + 1, row.end + 1)
        assert set(row.holds) == {item for item in found if low <= position[item] < high}
    assert len({row.wid for row in shown}) == len(shown)


@given(number=st.integers(0, 60), range_=LENGTHS, slide=LENGTHS, wid=st.integers(0, 70))
def test_row_windows_are_inverse(number: int, range_: int, slide: int, wid: int) -> None:
    window = RowWindow(range_, slide)
    start, end = tuples.extent(window, wid)
    assert (wid in tuples.wids(window, number, number)) == (start <= number < end)


@given(value=st.integers(-60, 60), origin=st.integers(-20, 20), slide=LENGTHS)
def test_landmark_windows_are_inverse(value: int, origin: int, slide: int) -> None:
    window = Landmark(slide, "ts", origin)
    first = landmark.first_window(window, value)
    for wid in range(20):
        start, end = landmark.extent(window, wid)
        assert (first is not None and wid >= first) == (start <= value < end)


@given(stream=values, rows=st.integers(0, 6))
def test_slack_rows_is_a_sorting_buffer(stream: list[int], rows: int) -> None:
    bound_after, seen = generator(SlackRows(rows), "s/0"), []
    for value in stream:
        seen.append(value)
        let_go = sorted(seen, reverse=True)[rows:]
        assert bound_after(value, {}) == (let_go[0] if let_go else None)


@given(stream=values, over=st.integers(1, 8), percent=st.integers(0, 99))
def test_adaptive_keeps_the_share_and_no_smaller_slack_does(
    stream: list[int], over: int, percent: int
) -> None:
    disorder = Adaptive(late=Fraction(percent, 100), over_rows=over)
    bound_after, lags = generator(disorder, "s/0"), []
    for position, value in enumerate(stream):
        lags.append(max([0, *(earlier - value for earlier in stream[:position])]))
        last = lags[-over:]
        slack = value - (bound_after(value, {}) or 0)
        assert 100 * sum(lag > slack for lag in last) <= percent * len(last)
        assert slack in last
        smaller = max((lag for lag in last if lag < slack), default=None)
        if smaller is not None:
            assert 100 * sum(lag > smaller for lag in last) > percent * len(last)


def test_the_members_of_a_lane_are_all_waited_for() -> None:
    members = OrderedPer("k", (("s/0", ("a", "b")),))
    lane = Lane("s/0", members)
    seen = []
    for value, key in ((5, "a"), (9, "c"), (7, "b"), (9, "a"), (8, "b"), (6, "b")):
        lane.record(value, {"k": key})
        seen.append(lane.progress)
    assert seen == [-math.inf, -math.inf, 5, 7, 8, 8]


def test_heartbeats_are_believed_by_their_generator_alone() -> None:
    delays = Heartbeat((("s/0", Delays(6, 1, 1)), ("s/1", Delays(3, 2, 0))))
    seen = Observation(None, {"s/0": 5, "s/1": 29, "else/0": 99})
    for disorder, progress in ((delays, 24), (Slack(0), -math.inf)):
        lane = Lane("s/0", disorder)
        lane.control(seen)
        assert lane.progress == progress


def test_a_bound_for_a_key_moves_that_key_alone() -> None:
    lane = Lane("s/0", Punctuation("k"))
    lane.control(Bound(7, {"k": "a"}))
    lane.control(Bound(9, {"other": "a"}))
    assert lane.of_record({"k": "a"}) == 7
    assert lane.of_record({"k": "b"}) == lane.progress == -math.inf
    lane.control(Bound(8))
    assert [lane.of_record({"k": k}) for k in "ab"] == [8, 8]


@given(stream=values, slack=st.integers(0, 5), every=st.integers(1, 9))
def test_an_update_shows_every_record_in_the_end(stream: list[int], slack: int, every: int) -> None:
    """Late or not, with `update` the last revision of each window is its whole extent."""
    late = Late.model_validate({"policy": "update", "every": f"{every} us"})
    window = SlideByTuple(7, "ts")
    found, lane = items(stream, Slack(slack))
    shown = revisions(query(window, late), found, [lane])
    last = {row.wid: row for row in shown}
    assert set(last) == set(stream)
    for wid, row in last.items():
        inside = [value for value in stream if wid - 7 < value <= wid]
        assert Counter(item.value for item in row.holds) == Counter(inside)
    assert Counter(row.wid for row in shown if row.revision <= 1).keys() == set(stream)
