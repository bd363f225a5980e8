"""Two engines on one input: what differs, and the parameters that explain it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.research.engines.comparison import (
    Comparison,
    Configuration,
    EmptyInputError,
    compare,
    configured,
)
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.profiles import KNOWN, SIMULATED, profile_of
from windowing.research.engines.streams import stream_of_times

ENGINES = [profile.name for profile in (*SIMULATED, *KNOWN)]


def configuration(engine: str, stream: list[StreamTuple], size: int, slide: int) -> Configuration:
    return configured(profile_of(engine), Domain.time, size, slide, stream)


def compared(left: str, right: str, times: str, size: int, slide: int) -> Comparison:
    stream = stream_of_times(times)
    return compare(*(configuration(one, stream, size, slide) for one in (left, right)), stream)


def explained(found: Comparison) -> list[list[str]]:
    return [[parameter.title for parameter in parameters] for parameters in found.explained_by]


def test_flink_and_storm_differ_in_the_start_alone() -> None:
    found = compared("flink", "storm", "1,2,4,4,7,12", 4, 2)
    assert not found.equal
    assert explained(found) == [["start of windows"]]
    assert str(found.explained_by[0][0]) == "start of windows: -3 | -2"


def test_flink_and_dataflow_are_one_entry() -> None:
    found = compared("flink", "dataflow", "1,2,4,4,7,12", 4, 2)
    assert found.equal
    assert not found.differing
    assert explained(found) == [[]]


def test_only_the_parameters_that_matter_explain() -> None:
    # Starts differ too, but by whole slides and before the first tuple.
    found = compared("slackwater", "azure", "6,7,10,12", 2, 2)
    assert len(found.both) == 2
    assert explained(found) == [["flush at the end of the input"]]
    assert [report.content for report in found.only_left] == [(4,)]


def test_equal_contents_caused_by_other_tuples_have_moved() -> None:
    stream = [StreamTuple(n, n, time, bid) for n, time, bid in [(1, 0, 1), (2, 5, 2), (3, 6, 2)]]
    engines = [configuration(one, stream, 2, 2) for one in ("flink-real", "spark-structured")]
    found = compare(*engines, stream)
    (pair, *_) = found.moved
    assert [one.arrival for one in pair] == [2, 3]
    assert not found.equal


def test_reports_in_one_engine_only_are_listed_once_each() -> None:
    found = compared("kafkastreams", "flink", "1,2,6", 2, 2)
    assert len(found.left) == len(found.both) + len(found.only_left)
    assert len(found.right) == len(found.both) + len(found.only_right)
    assert found.only_left


@given(
    engines=st.lists(st.sampled_from(ENGINES), min_size=2, max_size=2),
    size=st.integers(1, 8),
    slide=st.integers(1, 8),
    steps=st.lists(st.integers(0, 9), min_size=1, max_size=12),
)
def test_the_explanation_explains(
    engines: list[str], size: int, slide: int, steps: list[int]
) -> None:
    times = [sum(steps[: place + 1]) for place in range(len(steps))]
    found = compared(*engines, ",".join(map(str, times)), size, slide)
    assert found.equal == (explained(found) == [[]])
    assert found.equal or found.differing
    for parameters in found.explained_by:
        assert set(parameters) <= set(found.differing)


def test_an_input_without_tuples_is_refused() -> None:
    with pytest.raises(EmptyInputError, match="give at least one tuple"):
        configuration("flink", [], 1, 1)
