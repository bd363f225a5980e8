"""Heartbeats say what the definition concludes from them, in silent partitions only."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.tools.heartbeat import HeartbeatError, PartitionFacts, beats, delays_of
from windowing.model import Pipeline, parse_pipeline
from windowing.model.progress import Delays
from windowing.semantics.controls import read_control
from windowing.semantics.lanes import Lane

TEXT = """
name: p
source:
  topic: {topic}
  partitions: 3
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{}}
  disorder: {disorder}
queries:
  q: {{window: RANGE 10 s SLIDE 10 s WATTR ts, aggregates: {{n: count}}}}
"""
BEATING = """
    heartbeat:
      {topic}/0: {{max_delay: 6 s, min_delay: 1 s, skew: 1 s}}
      {topic}/1: {{max_delay: 3 s, min_delay: 2 s, skew: 500 ms}}
      {topic}/2: {{max_delay: 1 s}}
"""


def pipeline(topic: str = "s", disorder: str = BEATING) -> Pipeline:
    return parse_pipeline(TEXT.format(topic=topic, disorder=disorder.format(topic=topic)))


def test_the_example_of_the_rule() -> None:
    spec = pipeline()
    seen = PartitionFacts({0: 5_000_000, 1: 29_000_000}, {1: 100}, set())
    found = beats(spec, delays_of(spec, None), seen, now_us=200, silent_us=100, by_clock=False)
    assert [(beat.partition, beat.silent_us) for beat in found] == [(0, None), (2, None)]
    assert found[0].bound_us == 23_500_000
    assert json.loads(found[0].control) == {"seen": {"s/0": 5_000_000, "s/1": 29_000_000}}


@given(
    newest=st.dictionaries(st.integers(0, 2), st.integers(-(10**7), 10**8)),
    now_us=st.integers(-(10**8), 10**8),
    by_clock=st.booleans(),
    slack=st.booleans(),
)
def test_a_bound_is_what_the_definition_concludes(
    newest: dict[int, int], now_us: int, by_clock: bool, slack: bool
) -> None:
    spec = pipeline(disorder="ordered") if slack else pipeline()
    delays = delays_of(spec, Delays(4_000_000, 1_000_000, 250_000) if slack else None)
    found = beats(
        spec, delays, PartitionFacts(newest), now_us=now_us, silent_us=0, by_clock=by_clock
    )
    assert len(found) == (3 if newest or by_clock else 0)
    for beat in found:
        lane = Lane(spec.source.lane(beat.partition), spec.source.disorder)
        lane.control(read_control(beat.control.encode()))
        assert lane.progress == beat.bound_us


def test_silence_is_longer_than_stated_and_ended_lanes_are_left_alone() -> None:
    spec = pipeline()
    seen = PartitionFacts({0: 1, 1: 1, 2: 1}, {0: 899, 1: 900, 2: 0}, {2})
    found = beats(spec, delays_of(spec, None), seen, now_us=1000, silent_us=100)
    assert [beat.partition for beat in found] == [0]


def test_delays_are_stated_once() -> None:
    with pytest.raises(HeartbeatError, match="--max-delay 5s"):
        delays_of(pipeline(disorder="ordered"), None)
    with pytest.raises(HeartbeatError, match="leave out --max-delay"):
        delays_of(pipeline(), Delays(1, 0, 0))
