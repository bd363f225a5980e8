"""Topics as files, punctuations of a recording, and heartbeats of silent partitions."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition
from typer.testing import CliRunner

from chaos.readers.envelope import read_line
from chaos.readers.log import read_events
from jobs.brokers.producing import Signer
from jobs.brokers.topics import TopicError
from jobs.tools.heartbeat import (
    HeartbeatError,
    PartitionFacts,
    Watch,
    beats,
    delays_of,
    messages_of,
)
from jobs.tools.punctuate import PunctuateError, punctuated, punctuations, step_of, tightest_bounds
from jobs.tools.recording import Event, event_line, record
from jobs.tools.send_events import _check_held
from slackwater.main import app
from tests.strategies import Case, cases, entry, interleavings
from windowing.engine.reading.objects import BadValue, parse_object
from windowing.model import Pipeline, parse_pipeline
from windowing.model.metadata import Metadata
from windowing.model.progress import Delays
from windowing.semantics import evaluate
from windowing.semantics.arrivals import follow
from windowing.semantics.controls import read_control
from windowing.semantics.lanes import Lane
from windowing.semantics.log import split_lanes
from windowing.semantics.values import Record, ValueReader

TEXT = """
name: p
source:
  topic: {topic}
  partitions: 2
  format: json
  event_time: {{field: ts, unit: s}}
  fields: {{g: "string?", v: float}}
  disorder: ordered
late: {{policy: update, every: 20 s}}
retention: 1 day
queries:
  q: {{window: RANGE 20 s SLIDE 10 s WATTR ts, group_by: [g], aggregates: {{n: count, s: sum(v)}}}}
"""


BYTES_IN_TEXTS = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=4).map(lambda part: b'{"k":"' + part + b'"}'),
)


@given(BYTES_IN_TEXTS)
def test_a_value_keeps_its_bytes_where_a_line_can_hold_them(value: bytes) -> None:
    """A line is text, so bytes that are none, and no JSON around such, stand for themselves."""
    line = event_line(Event("t", 0, 0, value, None, None))
    assert b"\n" not in line
    kept = read_line(line).value
    assert kept is not None
    if kept != value:
        with pytest.raises(UnicodeDecodeError):
            value.decode("utf-8", "surrogatepass")
        for bad in (kept, value):
            with pytest.raises(BadValue, match="malformed"):
                parse_object(bad)


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    file, output = tmp_path / "p.yml", tmp_path / "events.jsonl"
    file.write_text(TEXT.format(topic="t"), encoding="utf-8")
    output.write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["record", str(file), "--output", str(output)])
    assert done.exit_code == 2
    assert "is there already" in " ".join(done.output.replace("│", " ").split())
    assert output.read_text(encoding="utf-8") == "mine"


PUNCTUATED = """
name: p
source:
  topic: {topic}
  partitions: 2
  format: json
  event_time: {{field: ts, unit: s}}
  fields: {{g: string}}
  disorder: punctuation
queries:
  q: {{window: RANGE 20 s SLIDE 10 s WATTR ts, group_by: [g], aggregates: {{n: count}}}}
"""


def naive(times: list[int], every: int) -> list[int]:
    """After each record, the largest multiple that is below or at all later ones."""
    highest = (max(times) // every + 1) * every
    # It is the last one up to some record, or the highest: those between may be 10^17.
    multiples = {time // every * every for time in times} | {highest}
    return [
        max(b for b in multiples if all(later >= b for later in times[place + 1 :]))
        for place in range(len(times))
    ]


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=12), st.integers(1, 12))
def test_bounds_are_the_tightest(times: list[int], every: int) -> None:
    assert tightest_bounds(np.array(times), every).tolist() == naive(times, every)


def test_bounds_stay_within_64_bits() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    assert tightest_bounds(ends, 1000)[-1] < 2**63 - 1
    assert tightest_bounds(ends[::-1], 1000)[0] == -(2**63)


def with_punctuation(case: Case) -> Pipeline:
    pipeline = parse_pipeline(case.pipeline)
    source = pipeline.source.model_copy(
        update={"disorder": parse_pipeline(PUNCTUATED.format(topic="s")).source.disorder}
    )
    return pipeline.model_copy(update={"source": source})


def believed(pipeline: Pipeline, append_us: int | None) -> int:
    """The largest bound that is no dead letter."""
    rule = pipeline.source.event_time
    ahead = [] if None in (append_us, rule.max_ahead_us) else [append_us + rule.max_ahead_us]
    return min([rule.max_us, 3 * 2**61, *ahead])


def test_operators_in_canonical_order_take_each_record_after_its_own_time() -> None:
    head = PUNCTUATED.format(topic="s")
    operator = "{operator: sort, by: [ts], window: SLIDING count(2), order: %s}"
    by_lane, canonical = (
        parse_pipeline(f"{head[: head.index('queries:')]}queries: {{a: {operator % order}}}\n")
        for order in ("lane", "canonical")
    )
    assert step_of(canonical) == 1
    with pytest.raises(PunctuateError, match="no query goes by event time"):
        step_of(by_lane)


@given(st.data())
def test_each_multiple_stands_right_behind_the_last_record_below_it(data: st.DataObject) -> None:
    case = data.draw(cases(records_max=14))
    pipeline = with_punctuation(case)
    log = [
        entry(event)
        for event in data.draw(interleavings(case.lanes))
        if "control" not in event or event["control"] == {"end": True}
    ]
    every = data.draw(st.sampled_from([1, 3, 10])) * step_of(pipeline)
    stops = punctuations(pipeline, record(pipeline, log), every)
    written = list(punctuated(pipeline.source, log, stops))
    assert [e.value for e in written if e.control is None] == [
        e.value for e in log if e.control is None
    ]
    reader = ValueReader(pipeline)
    for partition, entries in enumerate(split_lanes(pipeline.source, written)):
        lane = Lane(f"s/{partition}", pipeline.source.disorder)
        times, progress, limits = [], [], list[int]()
        for one in entries:
            ended = lane.progress == float("inf")
            for arrival in follow(lane, [one], reader):
                if isinstance(arrival.content, Record):
                    assert arrival.content.ts_us >= arrival.progress, "a bound was false"
                    times.append(arrival.content.ts_us)
                    progress.append(lane.progress)
                    limits.append(believed(pipeline, one.append_us))
            if one.control is not None and b"bound" in one.control and not ended:
                progress[-1] = lane.progress
        if times:
            bounds = zip(naive(times, every), limits, strict=True)
            expected = accumulate(map(min, bounds), max)
            lowest = min(times)
            assert progress == [b if b > lowest else -float("inf") for b in expected]


def test_bounds_per_key_are_true_of_their_key_and_promise_more_than_the_lane() -> None:
    pipeline = parse_pipeline(PUNCTUATED.format(topic="s"))
    rows = [(1, "a"), (25, "b"), (2, "a"), (31, "b"), (3, "a"), (33, "a")]
    log = [
        entry({"source": "s", "partition": 0, "offset": n, "value": {"ts": ts, "g": g}})
        for n, (ts, g) in enumerate(rows)
    ]
    stops = punctuations(pipeline, record(pipeline, log), 10_000_000, per="g")
    assert {offset: [json.loads(c) for c in said] for offset, said in stops[0].items()} == {
        1: [{"bound": 30_000_000, "on": {"g": "b"}}],
        3: [{"bound": 40_000_000, "on": {"g": "b"}}],
        4: [{"bound": 30_000_000}],
        5: [{"bound": 40_000_000}],
    }
    with pytest.raises(PunctuateError, match="no such field; known: g"):
        punctuations(pipeline, record(pipeline, log), 10, per="h")


@given(case=cases(records_max=14))
def test_events_are_read_as_they_were_written(
    case: Case, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in case.events]
    path = tmp_path_factory.getbasetemp() / "again.jsonl"
    path.write_bytes(b"".join(event_line(one) + b"\n" for one in log))
    again = list(read_events(path))
    reader = ValueReader(pipeline)
    for one, other in zip(log, again, strict=True):
        assert (one.partition, one.offset) == (other.partition, other.offset)
        assert (one.control is None) == (other.control is None)
        if one.control is not None and other.control is not None:
            # What is no JSON is shown as text, which is no control record either.
            assert read_control(one.control) == read_control(other.control)
        assert one.append_us == other.append_us
        if one.control is None:
            assert reader.read(one.value, None) == reader.read(other.value, None)


def test_the_command_over_files(tmp_path: Path) -> None:
    case = Path("tests/data/pipelines/late-update-generous")
    out = tmp_path / "out.jsonl"
    arguments = ["punctuate", str(case / "pipeline.yml"), "--input", str(case / "events.jsonl")]
    done = CliRunner().invoke(app, [*arguments, "--output", str(out), "--end"])
    assert done.exit_code == 0, done.output
    assert "8 records, 5 bounds, 2 ends" in done.output
    assert [event.offset for event in read_events(out) if event.partition == 1] == list(range(7))
    assert CliRunner().invoke(app, arguments).exit_code == 2
    wrong = CliRunner().invoke(app, [*arguments, "--output", str(out), "--every", "0 s"])
    assert wrong.exit_code == 2


def test_bounds_are_no_larger_than_what_is_believed() -> None:
    """The step beyond the last record lies behind `max`, and that of the first too far ahead."""
    text = """
name: p
source: {topic: s, partitions: 1, format: json, fields: {k: string}, disorder: punctuation,
  event_time: {field: ts, unit: us, max: "1970-01-01T00:00:00.000100", max_ahead: 20 us}}
queries: {q: {window: RANGE 7 us SLIDE 7 us WATTR ts, group_by: [k], aggregates: {n: count}}}
"""
    pipeline = parse_pipeline(text)
    log = [
        Event("s", 0, offset, f'{{"ts":{ts},"k":"a"}}'.encode(), None, append_us)
        for offset, (ts, append_us) in enumerate([(1, 1), (50, 60), (99, 99)])
    ]
    stops = punctuations(pipeline, record(pipeline, log), 7, "k")
    written = list(punctuated(pipeline.source, log, stops, [0]))
    bounds = [json.loads(one.control)["bound"] for one in written[:-1] if one.control is not None]
    assert bounds == [21, 80, 100]
    assert not evaluate(pipeline, written).dead


HEARTBEATS = """
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
    return parse_pipeline(HEARTBEATS.format(topic=topic, disorder=disorder.format(topic=topic)))


def test_the_example_of_the_rule() -> None:
    spec = pipeline()
    seen = PartitionFacts({0: 5_000_000, 1: 29_000_000}, {1: 100}, set())
    found = beats(spec, delays_of(spec, None), seen, now_us=200, silent_us=100, by_clock=False)
    assert [(beat.lane, beat.silent_us) for beat in found] == [(0, None), (2, None)]
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
        lane = Lane(spec.source.lane(beat.lane), spec.source.disorder)
        lane.control(read_control(beat.control.encode()))
        assert lane.progress == beat.bound_us


def test_silence_is_longer_than_stated_and_ended_lanes_are_left_alone() -> None:
    spec = pipeline()
    seen = PartitionFacts({0: 1, 1: 1, 2: 1}, {0: 899, 1: 900, 2: 0}, {2})
    found = beats(spec, delays_of(spec, None), seen, now_us=1000, silent_us=100)
    assert [beat.lane for beat in found] == [0]


TOPICS = HEARTBEATS.replace("topic: {topic}\n  partitions: 3", "topics: {{z: 1, a: 2}}").replace(
    "fields: {{}}", 'fields: {{}}\n  derive: {{own: "coalesce($key, $topic)"}}'
)


def test_heartbeats_of_several_topics_go_to_their_own() -> None:
    disorder = BEATING.format(topic="a").replace("a/2", "z/0")
    spec = parse_pipeline(TOPICS.format(disorder=disorder))
    consumer = SimpleNamespace(
        assign=lambda _: None,
        seek=lambda *_: None,
        beginning_offsets=lambda lanes: dict.fromkeys(lanes, 0),
        end_offsets=lambda lanes: {lane: int(lane.topic == "a") for lane in lanes},
        position=lambda lane: int(TopicPartition(*lane) not in consumer.held),
        poll=lambda timeout_ms: dict([consumer.held.popitem()]),
        held={
            TopicPartition("a", at): [kafka_record(at, value)]
            for at, value in enumerate([b'{"ts": 29000000}', b"broken"])
        },
    )
    watch = Watch(spec, consumer)
    assert watch.seen == PartitionFacts({1: 29_000_000}, {1: 7_000}, set())
    found = beats(spec, delays_of(spec, None), watch.seen, now_us=7_001, silent_us=5)
    assert [spec.source.lane(beat.lane) for beat in found] == ["z/0", "a/1"]
    sent = messages_of(found, spec.source, Signer(spec.source.control))
    assert {topic: [one[0] for one in own] for topic, own in sent.items()} == {"z": [0], "a": [1]}


def kafka_record(partition: int, value: bytes) -> SimpleNamespace:
    metadata = {"key": None, "headers": [], "timestamp": 7, "timestamp_type": 0}
    return SimpleNamespace(partition=partition, offset=0, value=value, **metadata)


def test_punctuation_of_several_topics_keeps_what_records_have() -> None:
    spec = parse_pipeline(TOPICS.format(disorder="punctuation"))
    log = [
        Event(topic, at, offset, f'{{"ts":{ts}}}'.encode(), None, None, Metadata(b"k", 5))
        for topic, at, offset, ts in (("a", 1, 0, 1), ("z", 0, 0, 2), ("a", 1, 1, 12_000_000))
    ]
    stops = punctuations(spec, record(spec, log), 10_000_000)
    written = list(punctuated(spec.source, log, stops, range(3)))
    assert [one for one in written if one.control is None] == [
        replace(one, offset=offset) for one, offset in zip(log, (0, 0, 2), strict=True)
    ]
    added = [f"{one.source}/{one.partition} {one.offset}" for one in written if one.control]
    assert added == ["a/1 1", "z/0 1", "a/1 3", "z/0 2", "a/0 0", "a/1 4"]
    assert not evaluate(spec, written).dead


def test_delays_are_stated_once() -> None:
    with pytest.raises(HeartbeatError, match="--max-delay 5s"):
        delays_of(pipeline(disorder="ordered"), None)
    with pytest.raises(HeartbeatError, match="leave out --max-delay"):
        delays_of(pipeline(), Delays(1, 0, 0))


@pytest.mark.parametrize(
    ("end", "headers", "said"),
    [
        (3, [], "s/0 ends at 3, and the file has 2 records for it; `send` makes"),
        (2, [], "the last record of s/0, at offset 1, is not the file's"),
        (3, [("slackwater-control", b"{}")], "offset 2 is a control record, as `queries` and"),
    ],
)
def test_what_is_behind_something_else_is_refused_with_a_way_out(
    end: int, headers: list[Any], said: str
) -> None:
    file = [entry({"source": "s", "partition": 0, "offset": at, "value": at}) for at in (0, 1)]
    with pytest.raises(TopicError, match="slackwater record FILE --output") as refused:
        _check_held("s", 0, end, SimpleNamespace(value=b"9", headers=headers), file)
    assert said in str(refused.value)
