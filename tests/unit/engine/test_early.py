"""Early rows, by a policy or because lanes are silent: provisional, and taken back if need be."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import entry
from tests.unit.engine.test_sessions import log, pipeline
from windowing.engine.reading.batches import batches
from windowing.model import PipelineError, parse_pipeline
from windowing.model.rows import Row
from windowing.runtime.local import LocalEngine

_SOME = max(settings.default.max_examples // 2, 8) if settings.default else 8


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
    spans = [(row.window_start_us, row.window_end_us) for row in engine.output.rows]
    assert sorted(spans) == [(3, 25), (40, 50)]


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


def test_a_session_that_a_late_record_opens_again_goes_on_counting() -> None:
    """The record at 5 joins what has ended at 6 and what is open: one session from -4 on."""
    engine = LocalEngine(pipeline("window: SESSION 10 us WATTR ts, early: {records: 1}"))
    for batch in batches(map(entry, log([-4, 6, 5, 15, 16])), 1):
        engine.feed(batch)
    early = [(r.window_id, r.revision, r.absorbed_by) for r in engine.output.early]
    assert early == [(-4, 1, None), (6, 1, None), (6, 2, -4), (-4, 2, None), (-4, 3, None)]


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


def test_a_lane_that_speaks_again_is_late_for_nothing() -> None:
    spec = parse_pipeline(
        """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {}, disorder: ordered, idle_timeout: 60 s}
queries: {q: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}}
"""
    )
    engine = LocalEngine(spec)
    places = [(0, 0, 1), (1, 0, 2), (0, 1, 15), (0, 2, 16), (1, 1, 3), (1, 2, 20)]
    for minute, (partition, offset, ts) in enumerate(places):
        event = {"source": "s", "partition": partition, "offset": offset, "value": {"ts": ts}}
        for batch in batches([entry(event)], 1):
            engine.feed(batch, wall_us=minute * 40_000_000)
    early = [(row.window_id, row.revision, row.records) for row in engine.output.early]
    # At the fourth record lane 1 had been silent for 80 s, and at the sixth lane 0 had.
    assert early == [(0, 1, 2), (1, 1, 2)]
    assert [(row.window_id, row.pane, row.records) for row in engine.output.rows] == [
        (0, "full", 3)
    ]
    assert not engine.output.dead_letters


@pytest.mark.parametrize(
    "window",
    [
        "RANGE 4 rows SLIDE 2 rows WATTR row_num",
        "RANGE 4 rows SLIDE 2 rows WATTR row_num ORDER event_time",
        "RANGE 10 us SLIDE 1 row RATTR ts SATTR row_num",
        "RANGE 10 us SLIDE 2 rows RATTR ts SATTR rank(ts)",
        "SESSION 3 rows WATTR row_num",
    ],
)
def test_windows_that_an_order_of_records_decides_have_no_idle_timeout(window: str) -> None:
    text = f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{}}, disorder: ordered, idle_timeout: 60 s}}
queries: {{q: {{window: {window}, aggregates: {{n: count}}}}}}
"""
    with pytest.raises(PipelineError, match="idle_timeout is for windows that no order of records"):
        parse_pipeline(text)
