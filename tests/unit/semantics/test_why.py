"""Why a window is as it is agrees with the rows and with the trace of the same log."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chaos.simulator.draw.wish import WINDOW_JOIN
from tests.strategies import KINDS, cases, entry, interleavings, join_cases
from windowing.model import Query, parse_pipeline
from windowing.model.rows import Row
from windowing.model.window_join import WindowJoinQuery
from windowing.semantics import RowId, evaluate, meaning_of
from windowing.semantics.trace import trace
from windowing.semantics.units import ArrivalOrderError
from windowing.semantics.view import Views
from windowing.semantics.why import NoWindow, WindowRef, why
from windowing.semantics.why_words import Explanation
from windowing.semantics.windows.window_joins import as_query

_EXAMPLES = max(settings.default.max_examples // 3, 3) if settings.default else 3


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_what_is_said_of_a_window_is_what_was_sent_of_it(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind=kind))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    try:
        rows = [row for row in evaluate(pipeline, log).rows if not row.retracts]
    except ArrivalOrderError:
        assume(False)
    assume(rows)
    row: Row = data.draw(st.sampled_from(rows))
    query = next(query for query in pipeline.of(Query) if query.name == row.query)
    found = why(pipeline, WindowRef(query, row.window_id, None, row.key), log)
    own = [
        one
        for one in rows
        if (one.query, one.window_id, one.key) == (row.query, row.window_id, row.key)
    ]
    assert not found.is_open or found.closes_at == math.inf
    assert (found.start, found.end) == (row.window_start_us, row.window_end_us)
    assert [(number, count) for number, _, count in found.revisions] == [
        (one.revision, one.records) for one in own
    ]
    view = Views(pipeline, log).of(query)
    held = {
        place
        for one in own
        for place in meaning_of(query).held_by(
            pipeline.source, view, RowId(query.name, row.window_id, row.key, one.revision)
        )
    }
    assert {one.item.place for one in found.members if one.sent} == held


@settings(max_examples=_EXAMPLES, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_of_a_joins_window_it_says_who_is_in_it_and_which_rows_it_has(data: st.DataObject) -> None:
    case = data.draw(join_cases(kind=WINDOW_JOIN))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    (join,) = pipeline.of(WindowJoinQuery)
    rows, equal = evaluate(pipeline, log).rows, len(join.on)
    assume(rows)
    row: Row = data.draw(st.sampled_from(rows))
    key = row.key[:equal]
    found = why(pipeline, WindowRef(as_query(join), row.window_id, None, key, join), log)
    assert (found.start, found.end) == (row.window_start_us, row.window_end_us)
    assert found.joined == [
        one for one in rows if (one.window_id, one.key[:equal]) == (row.window_id, key)
    ]
    members = {(one.item.lane, one.item.offset) for one in found.members if one.sent}
    for one in found.joined:
        named = dict(zip(join.key[equal:], one.key[equal:], strict=True))
        for side in ("left", "right"):
            assert named[side] is None or (named[side], named[f"{side}_offset"]) in members
    said = [*Explanation(pipeline, found).lines()]
    assert f"it has {len(found.joined):,} row{'s' * (len(found.joined) != 1)} so far:" in said


# Most small logs have no late record, which is what is looked for.
@settings(
    max_examples=_EXAMPLES,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(data=st.data())
def test_what_is_refused_is_late_in_the_trace(data: st.DataObject) -> None:
    case = data.draw(cases())
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    # Records that no window sees have no queries.
    lines = [line for line in trace(pipeline, log) if "queries" in line]
    late = [
        (line, query, wid)
        for line in lines
        for query in pipeline.of(Query)
        for wid in line["queries"][query.name]["late"]
    ]
    assume(late)
    line, query, wid = data.draw(st.sampled_from(late))
    place = (line["lane"], line["offset"])
    view = Views(pipeline, log).of(query)
    item = next(one for one in view.items if (one.lane, one.offset) == place)
    key = tuple(item.fields[name] for name in query.key)
    found = why(pipeline, WindowRef(query, wid, None, key), log)
    members = {(one.item.lane, one.item.offset) for one in found.members}
    refused = {(one.lane, one.offset) for one, _ in found.refused}
    assert (place in members) != (place in refused)
    assert place in refused or query.late.policy == "update"


TEXT = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: string}, disorder: {slack: 5 us}}
late: {policy: update, every: 20 us}
retention: 100 us
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
"""
PIPELINE = parse_pipeline(TEXT)


def event(lane: int, offset: int, ts: int, k: str = "a") -> object:
    return entry({"source": "s", "partition": lane, "offset": offset, "value": {"ts": ts, "k": k}})


def of(wid: int | None, key: str = "a", start: int | None = None) -> WindowRef:
    return WindowRef(PIPELINE.flows[0], wid, start, (key,))


def test_the_lane_that_holds_a_window_back_is_named() -> None:
    log = [event(0, 0, 3), event(1, 0, 5, "b"), event(0, 1, 30), event(1, 1, 12)]
    found = why(PIPELINE, of(0), log)  # type: ignore[arg-type]
    assert found.is_open
    assert (found.start, found.end, found.closes_at, found.progress) == (0, 10, 10, 7)
    assert [(lane.name, lane.progress, lane.offset) for lane in found.holding_back] == [
        ("s/1", 7, 1)
    ]
    assert [(one.item.place, one.sent) for one in found.members] == [(("s", 0, 0), False)]
    (released_by,) = (lane.released_by for lane in found.holding_back)
    assert released_by == 15
    assert why(PIPELINE, of(0), [*log, event(1, 2, 14)]).is_open  # type: ignore[arg-type]
    closed = why(PIPELINE, of(0), [*log, event(1, 2, 15)])  # type: ignore[arg-type]
    assert not closed.is_open
    assert closed.holding_back == []
    assert closed.revisions == [(0, 10, 1)]


def test_late_records_wait_for_their_epoch() -> None:
    log = [event(0, 0, 3), event(1, 0, 30), event(0, 1, 30), event(0, 2, 4)]
    found = why(PIPELINE, of(None, start=0), log)  # type: ignore[arg-type]
    assert [(one.item.offset, one.revision, one.sent) for one in found.members] == [
        (0, 0, True),
        (2, 1, False),
    ]
    assert found.members[1].instant == 40


def test_a_window_without_records_has_its_extent() -> None:
    log = [event(0, 0, 3), event(1, 0, 30)]
    found = why(PIPELINE, of(7), log)  # type: ignore[arg-type]
    assert (found.start, found.end, found.members) == (70, 80, [])
    with pytest.raises(NoWindow, match=r"at 1970-\S*71Z and holds a record of key"):
        why(PIPELINE, of(None, start=71), log)  # type: ignore[arg-type]


def test_a_duplicate_names_the_record_that_it_repeats() -> None:
    text = TEXT.replace("slack: 5 us}", "slack: 5 us}, duplicates: {by: [k], within: 9 us}")
    pipeline = parse_pipeline(text)
    log = [
        entry({"source": "s", "partition": 1, "offset": at, "value": {"ts": ts, "k": k}})
        for at, (ts, k) in enumerate([(3, "a"), (4, "a"), (4, "b"), (12, "a"), (5, "b")])
    ]
    (query,) = pipeline.of(Query)
    found = why(pipeline, WindowRef(query, 0, None, ("a",)), log)
    assert [(item.offset, fate) for item, fate in found.withheld] == [
        (1, "duplicate of s/1 offset 0")
    ]
    said = [*Explanation(pipeline, found).lines()]
    assert "1 record of its time no window sees:" in said
    assert said[-1].endswith("duplicate of s/1 offset 0")
    (line,) = (line for line in trace(pipeline, log) if line["offset"] == 4)
    assert (line["outcome"], line["repeats"]) == ("duplicates", 2)
