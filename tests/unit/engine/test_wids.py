"""Window ids by column arithmetic against the plain formulas, to the edges of 64 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine import wids
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.windows.sliding import Sliding

INSTANTS = st.one_of(
    st.integers(-100, 100),
    st.integers(INT64_MIN, INT64_MAX),
    st.sampled_from([INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX]),
)
LENGTHS = st.one_of(st.integers(1, 50), st.integers(1, 2**60))


@st.composite
def windows(draw: st.DrawFn) -> Sliding:
    return Sliding(
        range_=draw(LENGTHS),
        slide=draw(LENGTHS),
        attribute="ts",
        origin=draw(st.one_of(st.integers(-50, 50), st.integers(-(2**60), 2**60))),
    )


def _within(exact: int) -> bool:
    return INT64_MIN < exact <= INT64_MAX


@given(windows(), INSTANTS)
def test_slides_are_the_plain_quotient(window: Sliding, ts_us: int) -> None:
    exact = (ts_us - window.origin) // window.slide
    found = int(wids.slide_of(window, np.array([ts_us]))[0])
    if _within(exact) and _within(ts_us - window.origin):
        assert found == exact
    else:
        # Beyond 64 bits the sign is kept: far before every window, or far behind.
        assert (found < -(2**62)) == (exact < -(2**62))


@given(windows(), INSTANTS)
def test_the_last_window_holds_the_instant_and_the_next_does_not(
    window: Sliding, ts_us: int
) -> None:
    exact = (ts_us - window.origin + (window.range_ or 0)) // window.slide - 1
    if _within(exact) and _within(ts_us - window.origin):
        assert int(wids.last_window(window, np.array([ts_us]))[0]) == exact


@given(windows(), st.integers(INT64_MIN, INT64_MAX))
def test_ends_are_exact_or_never_reached(window: Sliding, wid: int) -> None:
    exact = window.origin + (wid + 1) * window.slide
    if wid >= 0:
        assert int(wids.end_us(window, np.array([wid]))[0]) == min(exact, INT64_MAX)


@given(INSTANTS, LENGTHS)
def test_releases_are_the_next_epoch_boundary(instant_us: int, epoch_us: int) -> None:
    exact = (instant_us // epoch_us + 1) * epoch_us
    found = int(wids.release_us(np.array([instant_us]), epoch_us)[0])
    assert found == min(exact, INT64_MAX)
