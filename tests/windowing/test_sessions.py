"""Sessions, early rows, limits of state: hand-made logs; random ones are in `test_classes`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import cases, entry
from tests.windowing.test_engine import defined, lines
from windowing.batches import batches
from windowing.errors import StateFull
from windowing.local import LocalEngine, Output, run
from windowing.semantics import evaluate
from windowing.spec import Pipeline, parse_pipeline
from windowing.spec.rows import Row, row_lines

_FEW = max(settings.default.max_examples // 6, 8) if settings.default else 8
_SOME = max(settings.default.max_examples // 2, 20) if settings.default else 20
Event = dict[str, object]


def pipeline(query: str, more: str = "") -> Pipeline:
    return parse_pipeline(
        f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: "string?", v: int}}, disorder: {{slack: 0 s}}}}
late: {{policy: update, every: 10 us}}
retention: 1 s
shards: 1
{more}
queries: {{q: {{group_by: [k], aggregates: {{n: count, vs: collect(v)}}, {query}}}}}
"""
    )


def log(times: Sequence[int], keys: str = "") -> list[Event]:
    """Records of one lane, by default of key a, and the end."""
    keys = keys or "a" * len(times)
    place = {"source": "s", "partition": 0}
    values = [{"ts": ts, "k": key, "v": ts} for ts, key in zip(times, keys, strict=True)]
    events: list[Event] = [{**place, "offset": n, "value": v} for n, v in enumerate(values)]
    return [*events, {**place, "offset": len(events), "control": {"end": True}}]


def output(spec: Pipeline, events: list[Event], rows: int = 3) -> Output:
    found = run(spec, batches(map(entry, events), rows))
    assert list(row_lines(found.rows)) == list(row_lines(evaluate(spec, map(entry, events)).rows))
    return found


def told(found: Output) -> list[tuple[object, ...]]:
    """Start, end, revision, records, and what marks the row."""
    ordered = [json.loads(line) for line in row_lines(found.rows)]
    names = ("window_start", "window_end", "revision", "records", "absorbed_by", "op")
    return [tuple(row[name] for name in names if name in row) for row in ordered]


# 0 and 5 are one session, 18 and 20 another, until 11 comes late (at 41) and is released at 50.
MERGING = [0, 5, 18, 20, 41, 11]


def test_a_late_record_merges_two_sessions() -> None:
    found = output(pipeline("window: SESSION 10 us WATTR ts"), log(MERGING))
    assert told(found) == [
        *((0, 15, 0, 2), (0, 30, 1, 5)),
        *((18, 30, 0, 2), (18, 30, 1, 0, 0)),
        (41, 51, 0, 1),
    ]


def test_what_was_sent_is_taken_back() -> None:
    spec = pipeline("window: SESSION 10 us WATTR ts, accumulation: retracting")
    assert told(output(spec, log(MERGING))) == [
        *((0, 15, 0, 2, "retract"), (0, 15, 0, 2), (0, 30, 1, 5)),
        *((18, 30, 0, 2, "retract"), (18, 30, 0, 2), (18, 30, 1, 0, 0)),
        (41, 51, 0, 1),
    ]


def test_only_what_is_new_is_shown() -> None:
    found = output(
        pipeline("window: SESSION 10 us WATTR ts, accumulation: discarding"), log(MERGING)
    )
    assert [row.values["vs"] for row in found.rows if row.revision == 1 and row.records] == [
        [11, 18, 20]
    ]


def test_exactly_the_gap_parts_two_sessions() -> None:
    found = output(pipeline("window: SESSION 10 us WATTR ts"), log([0, 10, 19]))
    assert told(found) == [(0, 10, 0, 1), (10, 29, 0, 2)]


def test_some_keys_have_gaps_of_their_own() -> None:
    window = "window: {session: 10 us, wattr: ts, gaps: {b: 3 us}}"
    found = output(pipeline(window), log([0, 0, 4, 4], "abab"))
    spans = {(row.key[0], row.window_start_us, row.window_end_us) for row in found.rows}
    assert spans == {("a", 0, 14), ("b", 0, 3), ("b", 4, 7)}


def test_rows_of_other_keys_part_sessions() -> None:
    """Two b between the first a and the next part them, as one does not."""
    spec = pipeline("window: SESSION 2 rows WATTR row_num, late: {policy: drop}")
    found = output(spec, log([9, 8, 7, 6, 5, 4], "ababba"))
    spans = {(row.key[0], row.window_start_us, row.window_end_us) for row in found.rows}
    assert spans == {("a", 0, 5), ("a", 5, 8), ("b", 1, 7)}


@pytest.mark.parametrize("policy", ["{every: 10 s}", "{records: 2}"])
def test_early_rows_are_numbered_apart(policy: str) -> None:
    spec = pipeline(f"window: RANGE 100 us SLIDE 100 us WATTR ts, early: {policy}")
    engine, events = LocalEngine(spec), log([1, 2, 3, 4, 5])
    for number, batch in enumerate(batches(map(entry, events), 1)):
        engine.feed(batch, wall_us=number * 5_000_000)
    early = [(row.pane, row.revision, row.records) for row in engine.output.early]
    # The first look at the clock only takes note of the period.
    wanted = [(1, 3), (2, 5)] if "every" in policy else [(1, 2), (2, 4)]
    assert early == [("early", *one) for one in wanted]
    assert [(row.pane, row.revision, row.records) for row in engine.output.rows] == [("full", 0, 5)]


def test_a_start_that_moves_before_the_end_leaves_an_early_tombstone() -> None:
    """A record out of order, within its slack, comes before what early rows showed as a start."""
    text = pipeline("window: SESSION 10 us WATTR ts, early: {records: 1}").text
    spec = parse_pipeline(text.replace("slack: 0 s", "slack: 20 us"))
    engine = LocalEngine(spec)
    for batch in batches(map(entry, log([7, 15, 3, 40])), 1):
        engine.feed(batch)
    early = [
        (row.window_start_us, row.window_end_us, row.revision, row.records, row.absorbed_by)
        for row in engine.output.early
    ]
    assert early == [
        (7, 17, 1, 1, None),
        (7, 25, 2, 2, None),
        (7, 25, 3, 0, 3),  # the window as it was shown last, and where it has gone
        (3, 25, 1, 3, None),
        (40, 50, 1, 1, None),
    ]
    stone = engine.output.early[2]
    assert (stone.pane, stone.values, stone.offsets) == ("early", {"n": None, "vs": None}, {})
    spans = {(row.window_start_us, row.window_end_us) for row in engine.output.rows}
    assert spans == {(3, 25), (40, 50)}


def test_what_was_sent_since_has_its_tombstone_among_the_late_rows() -> None:
    """Shown early, sent, merged into another: one tombstone, and not an early one."""
    engine = LocalEngine(pipeline("window: SESSION 10 us WATTR ts, early: {every: 10 s}"))
    walls_us = [0, *[20_000_000] * 5]
    for wall_us, batch in zip(
        walls_us, batches(map(entry, log([7, 8, 30, 0, 45])), 1), strict=True
    ):
        engine.feed(batch, wall_us=wall_us)
    assert [(row.window_id, row.absorbed_by) for row in engine.output.early] == [(7, None)]
    stones = [row for row in engine.output.rows if row.absorbed_by is not None]
    assert [(row.window_id, row.pane, row.revision) for row in stones] == [(7, "late", 1)]


@settings(max_examples=_SOME)
@given(data=st.data())
def test_what_early_rows_showed_comes_or_is_taken_back_once(data: st.DataObject) -> None:
    """Each early session is sent when it ends, or its last early row is a tombstone."""
    policy = data.draw(st.sampled_from(["{every: 3 us}", "{records: 1}", "{records: 2}"]))
    slack = data.draw(st.sampled_from(["0 s", "15 us", "40 us"]))
    text = pipeline(f"window: SESSION 10 us WATTR ts, early: {policy}").text
    spec = parse_pipeline(text.replace("slack: 0 s", f"slack: {slack}"))
    # Records jump back and forth by some gaps, so that sessions grow at both ends and merge.
    jumps = data.draw(st.lists(st.tuples(st.integers(-25, 9), st.sampled_from("aab")), max_size=14))
    events = log([3 * n + jump for n, (jump, _) in enumerate(jumps)], "".join(k for _, k in jumps))
    engine, rows = LocalEngine(spec), data.draw(st.integers(1, 4))
    for number, batch in enumerate(batches(map(entry, events), rows)):
        engine.feed(batch, wall_us=number * data.draw(st.integers(0, 4)))
    sent = {_identity(row) for row in engine.output.rows}
    shown: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in engine.output.early:
        shown[_identity(row)].append(row)
    for identity, provisional in shown.items():
        assert [row.revision for row in provisional] == [*range(1, len(provisional) + 1)]
        taken_back = [row.absorbed_by is not None for row in provisional]
        assert taken_back == [False] * (len(provisional) - 1) + [identity not in sent]
        for row in provisional:
            assert row.absorbed_by is None or row.absorbed_by < row.window_id


def _identity(row: Row) -> tuple[object, ...]:
    return row.query, row.window_id, row.key


@settings(max_examples=_FEW)
@given(data=st.data())
def test_rows_never_depend_on_early_ones(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["sliding", "session"]))
    case = data.draw(cases(kind=kind, records_max=12))
    policy = data.draw(st.sampled_from(["{every: 3 us}", "{records: 1}"]))
    spec = parse_pipeline(f"{case.pipeline}\nearly: {policy}\n")
    engine = LocalEngine(spec)
    for number, batch in enumerate(batches(map(entry, case.events), data.draw(st.integers(1, 5)))):
        engine.feed(batch, wall_us=number * data.draw(st.integers(0, 4)))
    assert lines(engine.output) == defined(spec, case)


def test_a_full_state_fails_the_batch_and_drops_nothing() -> None:
    window = "window: RANGE 10 us SLIDE 10 us WATTR ts"
    spec = pipeline(f"{window}, retention: {{time: 5 us, entries: 3}}")
    # Windows that no late record can reach any more make room.
    assert len(output(spec, log(range(0, 400, 10)), rows=1).rows) == 40
    with pytest.raises(StateFull, match="allows 3 entries"):
        run(spec, batches(map(entry, log([5] * 4, "abcd")[:-1]), 9))


def test_retention_may_count_windows() -> None:
    by_count = pipeline("window: RANGE 20 us SLIDE 10 us WATTR ts, retention: {windows: 3}")
    both = pipeline("window: RANGE 20 us SLIDE 10 us WATTR ts, retention: {windows: 3, time: 7 us}")
    assert (by_count.queries[0].retention_us, both.queries[0].retention_us) == (30, 7)
