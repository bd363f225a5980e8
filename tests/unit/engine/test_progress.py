"""Generators of the engine against those of the definition, however a lane is cut into chunks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.columns import field_column
from windowing.engine.progress import generator_of
from windowing.engine.reading.control import read_control
from windowing.engine.wids import NOTHING_YET
from windowing.model import progress as spec
from windowing.semantics.controls import read_control as read_defined
from windowing.semantics.lanes import Lane

LANE = "s/0"
DELAYS = {LANE: spec.Delays(9, 2, 3), "s/1": spec.Delays(4, 0, 1)}

generators = st.one_of(
    st.builds(spec.Slack, st.integers(0, 9)),
    st.builds(spec.SlackRows, st.integers(0, 5)),
    st.builds(spec.Adaptive, st.fractions(0, 1).filter(lambda f: f < 1), st.integers(1, 7)),
    st.just(spec.Heartbeat(tuple(DELAYS.items()))),
    st.just(spec.Punctuation()),
    st.sampled_from([(), ("a",), ("a", "b"), ("c", "a")]).map(
        lambda members: spec.OrderedPer("k", ((LANE, members),))
    ),
)
records = st.lists(
    st.tuples(st.integers(-20, 40), st.sampled_from(["a", "b", "c", "d", None])), max_size=30
)


@given(disorder=generators, stream=records, cuts=st.lists(st.integers(0, 30)), far=st.booleans())
def test_bounds_are_those_of_the_definition(
    disorder: spec.Disorder, stream: list[tuple[int, str | None]], cuts: list[int], far: bool
) -> None:
    # Near the ends of 64 bits nothing may wrap around.
    stream = [(ts_us - 2**62 if far else ts_us, key) for ts_us, key in stream]
    lane, defined = Lane(LANE, disorder), []
    for ts_us, key in stream:
        lane.record(ts_us, {"k": key})
        defined.append(NOTHING_YET if lane.progress == -math.inf else lane.progress)
    generator, memory, bounds = generator_of(disorder, LANE), [], []
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for start, stop in itertools.pairwise(edges):
        chunk = pl.DataFrame(
            [
                pl.Series("ts_us", [ts_us for ts_us, _ in stream[start:stop]], dtype=pl.Int64),
                pl.Series(
                    field_column("k"), [key for _, key in stream[start:stop]], dtype=pl.String
                ),
            ]
        )
        bounds += generator.bounds(chunk, memory).tolist()
    assert np.maximum.accumulate(np.array(bounds, dtype=np.int64)).tolist() == defined


@given(
    now=st.one_of(st.none(), st.integers(-20, 60)),
    seen=st.dictionaries(st.sampled_from([LANE, "s/1", "other/7"]), st.integers(-20, 60)),
)
def test_heartbeats_are_read_as_the_definition_reads_them(
    now: int | None, seen: dict[str, int]
) -> None:
    text = f'{{"now":{now},"seen":{seen}}}' if now is not None else f'{{"seen":{seen}}}'
    beat = text.replace("'", '"').encode()
    disorder = spec.Heartbeat(tuple(DELAYS.items()))
    lane = Lane(LANE, disorder)
    lane.control(read_defined(beat))
    reached = read_control(beat).reached_us(DELAYS)
    if reached is None:
        assert lane.progress == -math.inf
    else:
        bounds = generator_of(disorder, LANE).observed(np.array([reached]))
        assert bounds.tolist() == [lane.progress]
    assert read_control(beat).reached_us({}) is None


def test_what_promises_no_order_has_no_generator() -> None:
    with pytest.raises(ValueError, match="lane_generators has the name 'unordered'"):
        generator_of(spec.Unordered(), LANE)


def test_memory_stays_as_small_as_the_generator_says() -> None:
    chunk = pl.DataFrame({"ts_us": list(range(1000))})
    adaptive = spec.Adaptive(Fraction(1, 10), 7)
    for disorder, size in ((spec.SlackRows(5), 5), (adaptive, 8), (spec.Slack(3), 0)):
        memory: list[int] = []
        generator_of(disorder, LANE).bounds(chunk, memory)
        assert len(memory) == size
