"""Operators against the definition: cuts, interleavings, replays, refusals, crashes, early rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runtime.standalone.strategies import (
    Case,
    Entry,
    Feed,
    aggregator_cases,
    interleaved,
    join_cases,
    operator_of,
)
from windowing import (
    Bound,
    Deliveries,
    Early,
    JoinFlow,
    LaneStart,
    Late,
    Periods,
    Record,
    RowWindow,
    Session,
    Slack,
    Sliding,
    StreamFlow,
    WindowedAggregator,
    WindowJoin,
)
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.window import Window
from windowing.runtime.standalone.errors import CallRefused, RecordAfterEnd, StoreFull, UnknownLane
from windowing.semantics import flows


def defined(case: Case) -> tuple[list[Any], set[tuple[str, int]]]:
    """The rows in their order, and the refused records."""
    log = (case.starts, case.disorder, case.log)
    rows: list[Any]
    if isinstance(case.flow, JoinFlow):
        rows, _, refused = flows.pairs_of(case.flow, *log)
    else:
        rows, refused = flows.rows_of(case.flow, *log, past_end=case.past_end)
    return rows, {(r.lane, r.offset) for r in refused}


def once(rows: list[Any]) -> list[Any]:
    """What a sink keeps that passes over rows which it has."""
    kept: list[Any] = []
    for row in rows:
        if row not in kept:
            kept.append(row)
    return kept


CASES = {
    "windows": aggregator_cases(kinds=("time",)),
    "sessions": aggregator_cases(kinds=("session",)),
    "rows": aggregator_cases(kinds=("rows", "ranked", "row_session")),
    "joins": join_cases(),
}
cases = st.one_of(*CASES.values())


@pytest.mark.parametrize("kind", CASES)
@given(data=st.data())
def test_the_sequence_of_rows_is_the_defined_one_under_any_cut_and_interleaving(
    kind: str, data: st.DataObject
) -> None:
    case = data.draw(CASES[kind])
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=False)
    rows, refused = defined(case)
    assert feed.rows == rows
    dropping = case.flow.late.policy == "drop"
    assert (set() if dropping else refused) == set(feed.dead)
    assert feed.dropped == (len(refused) if dropping else 0)
    assert len(feed.dead) == len(set(feed.dead))


@given(data=st.data())
def test_replays_refusals_and_crashes_change_nothing(data: st.DataObject) -> None:
    case = data.draw(cases)
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=True)
    rows, refused = defined(case)
    # Rows sent before a crash are sent again, equal to the byte: a sink keeps the first.
    assert once(feed.rows) == once(rows)
    assert set(feed.dead) <= refused


@given(data=st.data())
def test_final_rows_never_depend_on_early_ones(data: st.DataObject) -> None:
    early = data.draw(st.sampled_from([{"every": "1 us"}, {"every": "8 us"}, {"records": 2}]))
    case = data.draw(
        aggregator_cases(early=Early.model_validate(early), accumulation="accumulating")
    )
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=False)
    assert [row for row in feed.rows if row.pane != "early"] == defined(case)[0]


@given(data=st.data())
def test_final_content_never_depends_on_the_wall_clock(data: st.DataObject) -> None:
    """Late rows by the wall clock: the last row of a window shows what the last epoch shows."""
    window = Sliding(10, data.draw(st.sampled_from([4, 10])), "ts", align="start")
    late = Late(policy="update", every=5)
    case = data.draw(
        aggregator_cases(("time",), window=window, late=late, accumulation="accumulating")
    )
    ended = [
        [*lane, Bound(start.name, start.start_offset + len(lane), 10**6)]
        for start, lane in zip(case.starts, case.lanes, strict=True)
        if not any(isinstance(e, Bound) and e.bound == float("inf") for e in lane)
    ]
    if len(ended) < len(case.lanes):
        return
    case = replace(case, lanes=ended)
    by_wall = {"late_by": Periods(data.draw(st.sampled_from([0, 9])))}
    feed = Feed(replace(case, options=by_wall), data.draw)
    feed.run(data.draw(interleaved(ended)), hostile=False)
    for late_tick in (10**4, 10**5):
        feed.operator.timeout(late_tick)
    expected = defined(case)[0]
    last = {(r.start, r.key): (r.value, r.records, dict(r.offsets)) for r in expected}
    assert {(r.start, r.key): (r.value, r.records, dict(r.offsets)) for r in feed.rows} == last


@given(data=st.data())
def test_pairs_by_the_wall_clock_are_the_pairs_of_the_log(data: st.DataObject) -> None:
    case = data.draw(join_cases(by_clock=True))
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=False)
    feed.operator.timeout(10**6)
    feed.operator.timeout(10**7)
    assert isinstance(case.flow, JoinFlow)
    every_pair = flows.pairs_of(case.flow, case.starts, case.disorder, case.log)[1]
    assert len(feed.rows) == len(every_pair)
    assert all(pair in feed.rows for pair in every_pair)


@pytest.mark.parametrize("accumulation", ["accumulating", "discarding", "retracting"])
def test_merged_sessions_show_what_the_surviving_start_has_not_shown(accumulation: str) -> None:
    flow = StreamFlow(
        window=Session(10, "ts"),
        group_by=("key",),
        aggregates={"value": "collect(value)"},
        late=Late(policy="update", every=10),
        accumulation=accumulation,
    )
    times = [0, 5, 18, 20, 41, 11]
    log: list[Entry] = [Record("s/0", n, ts, "a", ts) for n, ts in enumerate(times)]
    case = Case(flow, _ONE, Slack(0), [[*log, Bound("s/0", len(log), 60)]])
    rows = _all_rows(case)
    assert rows == defined(case)[0]
    merged = [row.value for row in rows if row.pane == "late" and row.records]
    new = [11, 18, 20] if accumulation == "discarding" else [0, 5, 11, 18, 20]
    assert merged == [new]


_ONE = (LaneStart("s", 0),)
_TWO = (LaneStart("l", 0, side="left"), LaneStart("r", 0, side="right"))


def _all_rows(case: Case) -> list[Any]:
    operator = operator_of(case)
    operator.add(case.log, wall=0)
    return list(operator.get_result())


def test_a_late_partner_takes_back_that_a_record_was_alone() -> None:
    left, late = Record("l/0", 0, 10, "a", 1), Record("r/0", 1, 12, "a", 2)
    update = Late(policy="update", every=10)
    flow = JoinFlow(left=5, right=0, on={"key": "key"}, kind="left", late=update)
    log = [[left, Bound("l/0", 1, 99)], [Bound("r/0", 0, 16), late, Bound("r/0", 2, 99)]]
    case = Case(flow, _TWO, Slack(0), log)
    found, alone = _all_rows(case), (left, None)
    rows = [(row.left, row.right, row.retracts) for row in found]
    assert rows == [(*alone, False), (*alone, True), (left, late, False)]
    assert found == defined(case)[0]


def test_an_outer_join_by_the_wall_clock_is_refused() -> None:
    by_clock = {"left": Deliveries(), "right": Deliveries()}
    with pytest.raises(ValueError, match="a full join goes by progress"):
        WindowJoin(JoinFlow(left=5, right=0, kind="full"), _TWO, by_clock=by_clock)


def test_a_session_join_connects_by_records_between() -> None:
    """3 and 15 are far apart until 9, which comes late, is released at 30."""
    flow = JoinFlow(on={"key": "key"}, session_gap=7, late=Late(policy="update", every=30))
    log: list[list[Entry]] = [
        [Record("l/0", 0, 3, "a", 1), Record("l/0", 1, 15, "a", 2), Record("l/0", 2, 9, "a", 3)],
        [Record("r/0", 0, 4, "a", 4), Record("r/0", 1, 40, "b", 5)],
    ]
    log[0].append(Bound("l/0", 3, 40))
    case = Case(flow, _TWO, Slack(0), log)
    rows = _all_rows(case)
    assert [(row.left.value, row.right.value) for row in rows] == [(1, 4), (3, 4), (2, 4)]
    assert rows == defined(case)[0]


def test_a_session_join_needs_its_key_among_the_join_keys() -> None:
    with pytest.raises(ValueError, match="needs the session key among its join keys"):
        JoinFlow(session_gap=5)


def _flow(window: Window | None = None, **more: Any) -> StreamFlow:
    return StreamFlow(
        window=window or Sliding(10, 10, "ts", align="start"),
        group_by=("key",),
        aggregates={"value": "collect(value)"},
        **more,
    )


@pytest.mark.parametrize(
    ("flow", "options", "rule"),
    [
        (_flow(Sliding(10, 10, "ts")), {}, "with align: start"),
        (_flow(RowWindow(2, 2, order="log")), {}, "with align: start"),
        (_flow(Landmark(5, "ts")), {}, "no windows like these"),
        (_flow(Sliding(5, 5, "ts", pattr="key", align="start")), {}, "without PATTR"),
        (_flow(late=Late(mode="consistent")), {}, "each window by itself"),
        (_flow(), {"past_end": True}, "past_end goes with"),
        (_flow(), {"late_by": Periods(5)}, "late_by goes with"),
        (_flow().model_copy(update={"group_by": ("carrier",)}), {}, "have a key alone"),
    ],
)
def test_what_the_row_path_does_not_have_is_refused(
    flow: StreamFlow, options: dict[str, Any], rule: str
) -> None:
    with pytest.raises(ValueError, match=rule):
        WindowedAggregator(flow, _ONE, **options)


def test_a_full_store_pushes_back_and_loses_nothing() -> None:
    operator = WindowedAggregator(_flow(retention_us=0, entries_max=3), _ONE)
    first = [Record("s/0", offset, offset, "a", offset) for offset in range(2)]
    operator.add(first, wall=0)
    more = [Record("s/0", 2, 12, "a", 2)]
    with pytest.raises(StoreFull, match="entries_max is 3"):
        operator.add([Record("s/0", 2, 3, "a", 2), Record("s/0", 3, 4, "a", 3)], wall=0)
    assert operator.lanes["s/0"][0] == 2
    operator.add([Bound("s/0", 2, 10)], wall=0)
    assert [row.value for row in operator.get_result()] == [[0, 1]]
    operator.flush()
    operator.add([Record("s/0", 3, more[0].ts, "a", 2)], wall=0)
    assert [view.value for view in operator.get_windows()] == [[2]]


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([Bound("s/0", 0, float("inf")), Record("s/0", 1, 5, None, 1)], RecordAfterEnd),
        ([Record("s/0", 0, 5, None, 1), Record("t/0", 0, 5, None, 1)], UnknownLane),
    ],
)
def test_a_refused_call_changes_nothing(
    entries: list[Record | Bound], error: type[CallRefused]
) -> None:
    operator = WindowedAggregator(_flow(), _ONE)
    with pytest.raises(error):
        operator.add(entries, wall=0)
    assert operator.lanes["s/0"] == (0, float("-inf"))
    assert operator.get_windows() == []
