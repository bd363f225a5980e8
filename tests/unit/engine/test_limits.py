"""The ends of the time line: nothing wraps, nothing is silent, and every sink can hold the result.

Times lie within 3 * 2^61 and lengths within 2^59; what lies beyond is refused by the file's rules,
or a dead letter, and engine, definition and the table sink's own code agree up to there.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import Case, Event, entry, lane_of
from tests.unit.engine.test_classes import check
from tests.unit.engine.test_engine import defined, lines
from tests.unit.sinks.test_table_sink import written
from windowing.engine.reading.batches import batches
from windowing.engine.reading.rules import ValueRules
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.lengths import LENGTH_MAX
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.sinks import POSTGRES_EARLIEST
from windowing.runtime.local import run

_EXAMPLES = max(settings.default.max_examples // 4, 4) if settings.default else 4
_BEYOND = (EARLIEST - 1, LATEST, -(2**63), 2**63 - 1, 9_200_000_000_000_000_000)
_EDGES = (EARLIEST, EARLIEST + 1, LATEST - 2, LATEST - 1, 0, LENGTH_MAX, -LENGTH_MAX)
TIMES = st.one_of(
    st.sampled_from([*_EDGES, *_BEYOND]),
    st.sampled_from(_EDGES).flatmap(lambda edge: st.integers(edge - 3, edge + 3)),
    st.integers(EARLIEST, LATEST - 1),
)
LENGTHS = st.sampled_from([LENGTH_MAX, LENGTH_MAX - 1, LENGTH_MAX // 2, LENGTH_MAX // 3])
WINDOWS = {
    "sliding": "RANGE {r} us SLIDE {s} us WATTR ts ORIGIN {o} us",
    "aligned": "RANGE {r} us SLIDE {s} us WATTR ts ORIGIN {o} us ALIGN start",
    "short": "RANGE 3 us SLIDE 2 us WATTR ts ORIGIN {o} us",
    "landmark": "RANGE LANDMARK SLIDE {s} us WATTR ts ORIGIN {o} us",
    "cumulate": "RANGE CUMULATE {s} us SLIDE {s} us WATTR ts ORIGIN {o} us",
    "cumulate slides": "RANGE CUMULATE 9 us SLIDE 3 us WATTR ts ORIGIN {o} us",
    "cumulate local": "RANGE CUMULATE 1 month SLIDE {s} us WATTR ts ZONE Europe/Berlin",
    "rows": "RANGE 5000 rows SLIDE 2 rows WATTR row_num ORDER event_time",
    "defined": "RANGE {r} us RATTR ts SATTR row_num SLIDE 1 row",
    "by n": "RANGE {r} us RATTR ts SATTR row_num SLIDE 2 rows",
    "by rank": "RANGE {r} us RATTR ts SATTR rank(ts) SLIDE 2 rows",
    "session": "SESSION {r} us WATTR ts",
    "number": "RANGE {r} SLIDE {s} WATTR n ORIGIN {o}",
    "session over a number": "SESSION {r} WATTR n",
}


@st.composite
def far_cases(draw: st.DrawFn, kind: str) -> Case:
    """A pipeline with windows as long, and a log as far off, as can be."""
    length, slide = draw(LENGTHS), draw(LENGTHS)
    origin = draw(st.sampled_from([0, LENGTH_MAX, -LENGTH_MAX, -1, 1]))
    window = WINDOWS[kind].format(r=length, s=slide, o=origin)
    unit = "" if "number" in kind else " us"
    rows = kind in ("rows", "by rank")
    late: Event = {"policy": draw(st.sampled_from(["drop", "dead_letter"]))}
    retention: dict[str, Any] = {}
    if not rows and draw(st.booleans()):
        every = draw(st.sampled_from([LENGTH_MAX, 1, 7]))
        late = {"policy": "update", "every": f"{every} us" if unit else every}
        kept = draw(st.sampled_from([LENGTH_MAX, 2**63 - 1, 0]))
        retention = {"retention": f"{kept} us" if unit else kept}
    slack = draw(st.sampled_from([0, 2, LENGTH_MAX]))
    document = {
        "name": "far",
        "source": {
            "topic": "s",
            "partitions": 1 if kind == "by n" else 2,
            "format": "json",
            "event_time": {"field": "ts", "unit": "us"},
            "fields": {"n": "int", "k": "int?"},
            "disorder": draw(st.sampled_from([{"slack": f"{slack} us"}, "punctuation"])),
            "disorder_of": {"n": {"slack": slack}},
        },
        "late": late,
        **retention,
        "shards": 2,
        "queries": {
            "q": {
                "window": window,
                "group_by": draw(st.sampled_from([[], ["k"]])),
                "aggregates": {"c": "count", "f": "first(n)"},
            }
        },
    }
    if draw(st.booleans()):
        document["queries"]["q"]["accumulation"] = "retracting"
    lanes = tuple(draw(_lane(number)) for number in range(document["source"]["partitions"]))
    return Case(yaml.safe_dump(document, sort_keys=False), lanes)


@st.composite
def _lane(draw: st.DrawFn, number: int) -> tuple[Event, ...]:
    drawn = draw(st.lists(st.tuples(TIMES, TIMES, st.booleans()), max_size=6))
    if draw(st.booleans()):
        drawn.sort()
    lane = []
    for ts, n, bound in drawn:
        value = {"value": {"ts": ts, "n": n, "k": draw(st.sampled_from([None, 1]))}}
        lane.append({"control": {"bound": ts}} if bound else value)
    if draw(st.booleans()):
        lane.append({"control": {"end": True}})
    return tuple(
        {"source": "s", "partition": number, "offset": offset, **content}
        for offset, content in enumerate(lane)
    )


@pytest.mark.parametrize("kind", WINDOWS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_every_class_at_the_ends_of_time(kind: str, data: st.DataObject) -> None:
    case = data.draw(far_cases(kind))
    check(case, data=data)
    if data.draw(st.integers(0, 2)) == 0:
        written(parse_pipeline(case.pipeline), [entry(event) for event in case.events], 4)


JOIN = """
name: j
join:
  left:
    source: {topic: l, partitions: 1, format: json, event_time: {field: ts, unit: us},
      fields: {k: int}, disorder: ordered}
  right:
    source: {topic: r, partitions: 1, format: json, event_time: {field: ts, unit: us},
      fields: {k: int}, disorder: ordered}
  kind: inner
  equal: [k]
  select: {k: left.k}
"""


@settings(max_examples=_EXAMPLES * 2)
@given(data=st.data())
def test_joins_at_the_ends_of_time(data: st.DataObject) -> None:
    """The distance of two records may be longer than any that 64 bits hold."""
    document = yaml.safe_load(JOIN)
    join = document["join"]
    for side in ("left", "right"):
        if data.draw(st.booleans()):
            join[side]["window"] = f"{data.draw(st.sampled_from([0, 5, LENGTH_MAX]))} us"
    join["kind"] = data.draw(st.sampled_from(["inner", "left", "right", "full"]))
    join["equal"] = data.draw(st.sampled_from([[], ["k"]]))
    if data.draw(st.booleans()):
        document |= {"late": {"policy": "update", "every": f"{LENGTH_MAX} us"}}
        document["retention"] = f"{data.draw(st.sampled_from([LENGTH_MAX, 2**63 - 1]))} us"
    text = yaml.safe_dump(document, sort_keys=False)
    events: list[Event] = []
    for topic in "lr":
        times = data.draw(st.lists(TIMES, max_size=5))
        contents = [{"value": {"ts": ts, "k": 1}} for ts in times]
        contents += [{"control": {"end": True}}] * data.draw(st.integers(0, 1))
        place = {"source": topic, "partition": 0}
        events += [{**place, "offset": o, **content} for o, content in enumerate(contents)]
    pipeline, log = parse_pipeline(text), [entry(event) for event in events]
    found = lines(run(pipeline, batches(log, data.draw(st.integers(1, 9)), pipeline)))
    assert found == defined(pipeline, Case(text, (tuple(events),)))
    written(pipeline, log, 4)


def test_a_pair_whose_distance_leaves_64_bits_is_none() -> None:
    """Their distance is beyond 2^63, and wrapped it is a small one."""
    document = yaml.safe_load(JOIN)
    for side in ("left", "right"):
        document["join"][side]["window"] = "5 us"
    pipeline = parse_pipeline(yaml.safe_dump(document))
    times = {"l": [EARLIEST], "r": [LATEST - 1]}
    log = [
        entry({"source": topic, "partition": 0, "offset": offset, **content})
        for topic, own in times.items()
        for offset, content in enumerate(
            [*({"value": {"ts": ts, "k": 1}} for ts in own), {"control": {"end": True}}]
        )
    ]
    assert run(pipeline, batches(log, 9, pipeline)).rows == []


PIPELINE = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {n: int}, disorder: DISORDER, disorder_of: {n: ordered}}
late: LATE
queries: {q: {window: WINDOW, aggregates: {c: count}}}
"""
_PLAIN = {
    "DISORDER": "ordered",
    "LATE": "{policy: drop}",
    "WINDOW": "RANGE 1 h SLIDE 1 h WATTR ts",
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"WINDOW": f"RANGE {2**59 + 1} us SLIDE {2**59} us WATTR ts"}, r"RANGE 5764.*\(2\^59\)"),
        ({"WINDOW": f"RANGE {2**63 - 1} us SLIDE 1 us WATTR ts"}, r"RANGE 9223.*at most 5764"),
        ({"WINDOW": f"RANGE 5 us SLIDE {2**61} us WATTR ts"}, r"SLIDE 2305.*at most"),
        ({"WINDOW": f"RANGE 5 us SLIDE 5 us WATTR ts ORIGIN {-(2**63)} us"}, r"ORIGIN -9223.*of 0"),
        ({"WINDOW": f"SESSION {2**62} us WATTR ts"}, r"SESSION 4611.*at most"),
        ({"WINDOW": f"SESSION {2**62} WATTR n"}, r"SESSION 4611.*at most"),
        (
            {"WINDOW": "RANGE 1000000 d SLIDE 1 us WATTR ts"},
            r"every record lies in 86,400,000,000,000,000 windows",
        ),
        ({"WINDOW": f"RANGE {2**61} SLIDE 2 WATTR n"}, r"RANGE 2305.*at most"),
        ({"DISORDER": f"{{slack: {2**61} us}}"}, r"at most 576460752303423488 us"),
        (
            {"DISORDER": f"{{heartbeat: {{s/0: {{max_delay: {2**62} us}}}}}}"},
            r"at most 576460752303423488 us",
        ),
        (
            {"LATE": f"{{policy: update, every: {2**62} us}}\nretention: 1 s"},
            r"at most 576460752303423488 us",
        ),
        ({"LATE": f"{{policy: update, every: 1 s}}\nretention: {2**63} us"}, r"at most 9223.* us"),
        (
            {"LATE": "{policy: update, every: 1 s}\nretention: {windows: 10000000000}"},
            r"retention: 10000000000 windows",
        ),
    ],
)
def test_lengths_beyond_are_refused_with_value_and_limit(
    changed: dict[str, str], message: str
) -> None:
    text = PIPELINE
    for name, value in {**_PLAIN, **changed}.items():
        text = text.replace(name, value)
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text)


@pytest.mark.parametrize("ts", _BEYOND)
def test_a_time_beyond_is_a_dead_letter(ts: int) -> None:
    text = PIPELINE
    for name, value in _PLAIN.items():
        text = text.replace(name, value)
    pipeline = parse_pipeline(text)
    log = lane_of([{"value": {"ts": ts, "n": 1}}])
    (dead,) = run(pipeline, batches(log, 1)).dead_letters
    assert (dead.reason, dead.query) == ("time_out_of_range", None)


def test_a_postgres_sink_takes_times_that_its_columns_hold() -> None:
    text = PIPELINE + "sink: {postgres: p}\n"
    for name, value in {**_PLAIN, "WINDOW": "RANGE 1 h SLIDE 1 h WATTR ts ALIGN start"}.items():
        text = text.replace(name, value)
    hour_us = 3_600_000_000
    assert ValueRules.of(parse_pipeline(text)).first_us == POSTGRES_EARLIEST + hour_us
    far = text.replace("ALIGN start", f"ORIGIN {POSTGRES_EARLIEST - 1} us")
    with pytest.raises(PipelineError, match=r"ORIGIN -2000.* for a PostgreSQL sink"):
        parse_pipeline(far)
    pipeline = parse_pipeline(text)
    times = (POSTGRES_EARLIEST, POSTGRES_EARLIEST + hour_us, 0)
    events = [
        {"source": "s", "partition": 0, "offset": offset, "value": {"ts": ts, "n": 1}}
        for offset, ts in enumerate(times)
    ]
    log = [entry(event) for event in events]
    output = run(pipeline, batches(log, 9))
    assert [one.reason for one in output.dead_letters] == ["time_out_of_range"]
    assert min(row.window_start_us for row in output.rows) > POSTGRES_EARLIEST
    assert lines(output) == defined(pipeline, Case(text, (tuple(events),)))
