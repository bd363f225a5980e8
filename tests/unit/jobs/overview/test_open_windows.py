"""Open windows and what releases them: as the definition says, and as `why` says it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.overview.lanes import Stand, open_windows
from jobs.overview.metrics_file import BatchMetrics
from jobs.overview.totals import LaneCount, LaneCounts
from tests.strategies import entry
from windowing.model import Pipeline, parse_pipeline
from windowing.semantics.why import WindowRef, why
from windowing.semantics.why_words import Explanation
from windowing.semantics.windows.classes import extents_of
from windowing.semantics.windows.sliding import SlidingDefinition

TEXT = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: string, n: int}, disorder: {slack: 5 us}}
queries:
  q: {window: WINDOW, aggregates: {n: count}}
"""


def of(window: str) -> Pipeline:
    return parse_pipeline(TEXT.replace("WINDOW", window))


def stand(pipeline: Pipeline, *progress: int | None, ended: tuple[int, ...] = ()) -> Stand:
    lanes = {
        f"s/{n}": LaneCount(1, 0, 1, 1, None, None if n in ended else us, n in ended)
        for n, us in enumerate(progress)
    }
    return Stand.of(pipeline, LaneCounts(lanes), BatchMetrics())


@given(
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(-50, 50),
    st.sampled_from(["", " ALIGN start"]),
    st.tuples(st.integers(-40, 300), st.integers(0, 60)),
)
def test_windows_are_counted_as_the_definition_has_them(
    range_: int, slide: int, origin: int, align: str, where: tuple[int, int]
) -> None:
    least, apart = where
    text = f"RANGE {range_} us SLIDE {slide} us WATTR ts ORIGIN {origin} us{align}"
    pipeline = of(text)
    ((found, end),) = open_windows(stand(pipeline, least + apart, least))
    extent = extents_of(pipeline.flows[0]).extent
    begin = -500 if align else 0
    wids = [
        w for w in range(begin, 600) if extent(w)[1] > least and extent(w)[0] <= least + apart + 5
    ]
    assert found.open == len(wids)
    assert end == (extent(wids[0])[1] if wids else None)
    assert found.held_back_by == ("s/1" if wids and apart else "s/0" if wids else None)


@given(
    st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(-50, 50)),
    st.tuples(st.integers(-40, 300), st.integers(0, 60)),
    st.tuples(st.integers(-40, 300), st.integers(1, 300)),
    st.sampled_from(["skip", "emit"]),
)
def test_a_query_that_is_active_for_a_while_has_the_windows_of_the_definition(
    sizes: tuple[int, int, int], where: tuple[int, int], span: tuple[int, int], warmup: str
) -> None:
    """T9: the oldest open window was one that an added query never has."""
    (range_, slide, origin), (least, apart), (begins, lasts) = sizes, where, span
    text = TEXT.replace("WINDOW", f"RANGE {range_} us SLIDE {slide} us WATTR ts ORIGIN {origin} us")
    more = f"from: {begins}, until: {begins + lasts}, warmup: {warmup}, aggregates:"
    pipeline = parse_pipeline(text.replace("aggregates:", more))
    ((found, end),) = open_windows(stand(pipeline, least + apart, least))
    extents = extents_of(pipeline.flows[0])
    assert isinstance(extents, SlidingDefinition)
    wids = sorted({w for value in range(begins, begins + lasts) for w in extents.wids(value)})
    wids = [
        w
        for w in wids
        if extents.extent(w)[1] > least and extents.extent(w)[0] <= least + apart + 5
    ]
    assert end == (extents.extent(wids[0])[1] if wids else None)
    assert (found.open or 0) >= len(wids)


def test_what_releases_a_window_is_what_why_says() -> None:
    pipeline = of("RANGE 10 us SLIDE 10 us WATTR ts")
    log = [
        entry({"source": "s", "partition": lane, "offset": 0, "value": {"ts": ts, "k": "", "n": 0}})
        for lane, ts in ((0, 40), (1, 17))
    ]
    ((found, _),) = open_windows(stand(pipeline, 35, 12))
    sought = WindowRef(pipeline.flows[0], 1, None, ())
    (line,) = [
        line
        for line in Explanation(pipeline, why(pipeline, sought, log)).lines()
        if "s/1 h" in line
    ]
    assert found.release is not None
    release = found.release.removesuffix(" on s/1")
    assert (
        release
        == "a record of 1970-01-01T00:00:00.000025Z, or a bound of 1970-01-01T00:00:00.000020Z,"
    )
    assert release in line
    assert found.open == 4  # 10 to 50: the furthest record was at 40


@pytest.mark.parametrize(
    ("window", "open_", "is_held"),
    [
        ("SESSION 30 us WATTR ts", None, False),
        ("RANGE 2 rows SLIDE 2 rows WATTR row_num PATTR n", None, False),
        ("RANGE 10 us SLIDE 10 us WATTR ts", 4, True),
    ],
)
def test_what_is_not_countable_is_not_counted(
    window: str, open_: int | None, is_held: bool
) -> None:
    ((found, _),) = open_windows(stand(of(window), 25, 5))
    assert (found.open, found.held_back_by is not None) == (open_, is_held)


def test_ended_lanes_hold_nothing_back() -> None:
    pipeline = of("RANGE 10 us SLIDE 10 us WATTR ts")
    ((found, end),) = open_windows(stand(pipeline, 25, None, ended=(1,)))
    assert (found.held_back_by, end) == ("s/0", 30)
    ((found, end),) = open_windows(stand(pipeline, None, None, ended=(0, 1)))
    assert (found.open, found.held_back_by, end) == (0, None, None)
    both = stand(pipeline, None, None, ended=(0, 1))
    assert (both.all_ended, both.least_us, both.lag_s("s/0")) == (True, None, None)


def test_a_lane_without_progress_holds_everything_back() -> None:
    pipeline = of("RANGE 10 us SLIDE 10 us WATTR ts")
    ((found, end),) = open_windows(stand(pipeline, 25, None))
    assert (found.open, found.oldest, found.held_back_by, end) == (None, None, "s/1", None)
    assert math.isclose(stand(pipeline, 25, 5).lag_s("s/1") or 0, 20e-6)
