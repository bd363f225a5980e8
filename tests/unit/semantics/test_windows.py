"""extent and wids: inverse, aligned at their ends, clipped at the origin."""

from hypothesis import given
from hypothesis import strategies as st

from windowing.model.windows.sliding import Sliding
from windowing.semantics.windows.sliding import extent, wids


def sliding(range_us: int, slide_us: int, origin_us: int = 0) -> Sliding:
    return Sliding(range_us, slide_us, "ts", origin_us)


lengths = st.one_of(st.integers(1, 40), st.integers(1, 2**62))
specs = st.builds(sliding, lengths, lengths, st.integers(-60, 60))


@given(spec=specs, ts_us=st.integers(-100, 200), near=st.integers(0, 60))
def test_wids_and_extent_are_inverse(spec: Sliding, ts_us: int, near: int) -> None:
    for wid in {near, *wids(spec, ts_us)[:50]}:
        start, end = extent(spec, wid)
        assert (wid in wids(spec, ts_us)) == (start <= ts_us < end)


@given(spec=specs, wid=st.integers(0, 1000))
def test_the_edges_of_a_window_are_half_open(spec: Sliding, wid: int) -> None:
    start, end = extent(spec, wid)
    assert spec.origin <= start < end
    assert wid in wids(spec, start)
    assert wid in wids(spec, end - 1)
    assert wid not in wids(spec, end)
    assert wid not in wids(spec, start - 1)


@given(spec=specs, ts_us=st.integers(-100, 200))
def test_no_window_before_the_origin(spec: Sliding, ts_us: int) -> None:
    if ts_us < spec.origin:
        assert not wids(spec, ts_us)


def test_ends_are_aligned_and_first_windows_clipped() -> None:
    spec = sliding(25, 10)
    assert [extent(spec, wid) for wid in range(5)] == [
        (0, 10),
        (0, 20),
        (5, 30),
        (15, 40),
        (25, 50),
    ]
    assert [list(wids(spec, ts)) for ts in (5, 14, 15)] == [[0, 1, 2], [1, 2], [1, 2, 3]]


def test_origin_below_zero() -> None:
    spec = sliding(20, 10, -15)
    assert [extent(spec, wid) for wid in range(3)] == [(-15, -5), (-15, 5), (-5, 15)]
    assert not wids(spec, -16)
    assert list(wids(spec, -15)) == [0, 1]


def test_gaps() -> None:
    spec = sliding(4, 10)
    assert [list(wids(spec, ts)) for ts in (5, 6, 9, 10)] == [[], [0], [0], []]
