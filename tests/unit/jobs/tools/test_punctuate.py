"""Punctuations of a recording are true, and could not stand one record earlier."""

import json
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaos.readers.log import read_events
from jobs.tools.punctuate import PunctuateError, punctuated, punctuations, step_of, tightest_bounds
from jobs.tools.recording import Event, event_line, record
from slackwater.main import app
from tests.strategies import Case, cases, entry, interleavings
from windowing.model import Pipeline, parse_pipeline
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
        update={"disorder": parse_pipeline(TEXT.format(topic="s")).source.disorder}
    )
    return pipeline.model_copy(update={"source": source})


def believed(pipeline: Pipeline, append_us: int | None) -> int:
    """The largest bound that is no dead letter."""
    rule = pipeline.source.event_time
    ahead = [] if None in (append_us, rule.max_ahead_us) else [append_us + rule.max_ahead_us]
    return min([rule.max_us, 3 * 2**61, *ahead])


def test_operators_in_canonical_order_take_each_record_after_its_own_time() -> None:
    head = TEXT.format(topic="s")
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
    written = list(punctuated(log, punctuations(pipeline, record(pipeline, log), every), "s"))
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
    pipeline = parse_pipeline(TEXT.format(topic="s"))
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
    written = list(punctuated(log, stops, "s", [0]))
    bounds = [json.loads(one.control)["bound"] for one in written[:-1] if one.control is not None]
    assert bounds == [21, 80, 100]
    assert not evaluate(pipeline, written).dead
