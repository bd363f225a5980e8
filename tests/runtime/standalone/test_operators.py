"""Operators against the definition: cuts, interleavings, replays, refusals, crashes, early rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.standalone.strategies import (
    Case,
    Entry,
    Feed,
    aggregator_cases,
    interleaved,
    join_cases,
)
from windowing import (
    AggregatorSpec,
    Bound,
    LaneSpec,
    Record,
    TimeWindows,
    WindowedAggregator,
    WindowJoin,
)
from windowing.model.operator import JoinSpec, RowSessions, TimeSessions
from windowing.runtime.standalone.errors import CallRefused, RecordAfterEnd, StoreFull, UnknownLane
from windowing.semantics.operators import join, sessions, windows


def defined(case: Case) -> tuple[list[Any], set[tuple[str, int]]]:
    """The rows in their order, and the refused records."""
    if isinstance(case.spec, JoinSpec):
        rows, _, refused = join.pairs_of(case.spec, case.log)
        return list(rows), {(r.lane, r.offset) for r in refused}
    by_session = isinstance(case.spec.windows, TimeSessions | RowSessions)
    definition = sessions if by_session else windows
    found, refused = definition.rows_of(case.spec, case.log)
    return list(found), {(r.lane, r.offset) for r in refused}


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
    dropping = case.spec.late.policy == "drop"
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
    early = data.draw(st.sampled_from([{"every": 0}, {"every": 8}, {"records": 2}]))
    case = data.draw(aggregator_cases(early=early, accumulation="accumulating"))
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=False)
    assert [row for row in feed.rows if row.pane != "early"] == defined(case)[0]


@given(data=st.data())
def test_final_content_never_depends_on_the_wall_clock(data: st.DataObject) -> None:
    """Late rows by the wall clock: the last row of a window shows what the last epoch shows."""
    windows = {"size": 10, "step": data.draw(st.sampled_from([4, 10]))}
    by_log = {"policy": "update", "every": 5}
    case = data.draw(
        aggregator_cases(("time",), windows=windows, late=by_log, accumulation="accumulating")
    )
    ended = [
        [*lane, Bound(spec.name, spec.start_offset + len(lane), 10**6)]
        for spec, lane in zip(case.spec.lanes, case.lanes, strict=True)
        if not any(isinstance(e, Bound) and e.bound == float("inf") for e in lane)
    ]
    if len(ended) < len(case.lanes):
        return
    by_wall = {"policy": "update", "clock": "wall", "every": data.draw(st.sampled_from([0, 9]))}
    spec = AggregatorSpec.model_validate({**case.spec.model_dump(), "late": by_wall})
    feed = Feed(Case(spec, ended), data.draw)
    feed.run(data.draw(interleaved(ended)), hostile=False)
    for late_tick in (10**4, 10**5):
        feed.operator.timeout(late_tick)
    expected = defined(Case(case.spec, ended))[0]
    last = {(r.start, r.key): (r.value, r.records, dict(r.offsets)) for r in expected}
    assert {(r.start, r.key): (r.value, r.records, dict(r.offsets)) for r in feed.rows} == last


@given(data=st.data())
def test_pairs_by_the_wall_clock_are_the_pairs_of_the_log(data: st.DataObject) -> None:
    case = data.draw(join_cases(clock="wall"))
    feed = Feed(case, data.draw)
    feed.run(data.draw(interleaved(case.lanes)), hostile=False)
    feed.operator.timeout(10**6)
    feed.operator.timeout(10**7)
    assert isinstance(case.spec, JoinSpec)
    every_pair = join.pairs_of(case.spec, case.log)[1]
    assert len(feed.rows) == len(every_pair)
    assert all(pair in feed.rows for pair in every_pair)


@pytest.mark.parametrize("accumulation", ["accumulating", "discarding", "retracting"])
def test_merged_sessions_show_what_the_surviving_start_has_not_shown(accumulation: str) -> None:
    spec = AggregatorSpec.model_validate(
        {
            "lanes": [{"source": "s", "partition": 0}],
            "windows": {"gap": 10},
            "aggregate": "collect",
            "late": {"every": 10},
            "accumulation": accumulation,
        }
    )
    times = [0, 5, 18, 20, 41, 11]
    log: list[Entry] = [Record("s/0", n, ts, "a", ts) for n, ts in enumerate(times)]
    case = Case(spec, [[*log, Bound("s/0", len(log), 60)]])
    operator = WindowedAggregator(spec)
    operator.add(case.log, wall=0)
    rows = operator.get_result()
    assert rows == defined(case)[0]
    merged = [row.value for row in rows if row.pane == "late" and row.records]
    new = [11, 18, 20] if accumulation == "discarding" else [0, 5, 11, 18, 20]
    assert merged == [new]


def _join(**fixed: Any) -> JoinSpec:
    lanes = [{"source": side[0], "partition": 0, "side": side} for side in ("left", "right")]
    windows = {"left": {"window": 5}, "right": {"window": 0}}
    return JoinSpec.model_validate({"lanes": lanes, "axis": "ts", **windows, **fixed})


def test_a_late_partner_takes_back_that_a_record_was_alone() -> None:
    left, late = Record("l/0", 0, 10, "a", 1), Record("r/0", 1, 12, "a", 2)
    case = Case(
        _join(kind="left", late={"every": 10}),
        [[left, Bound("l/0", 1, 99)], [Bound("r/0", 0, 16), late, Bound("r/0", 2, 99)]],
    )
    operator = WindowJoin(case.spec)  # type: ignore[arg-type]
    operator.add(case.log, wall=0)
    alone = (left, None)
    rows = [(row.left, row.right, row.retracts) for row in operator.get_result()]
    assert rows == [(*alone, False), (*alone, True), (left, late, False)]
    assert operator.get_result() == defined(case)[0]


def test_an_outer_join_by_the_wall_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="a full join needs clock: progress"):
        _join(kind="full", clock="wall")


def test_a_session_join_connects_by_records_between() -> None:
    """3 and 15 are far apart until 9, which comes late, is released at 30."""
    lanes = [{"source": side[0], "partition": 0, "side": side} for side in ("left", "right")]
    nowhere = {"left": {"window": None}, "right": {"window": None}}
    spec = {"lanes": lanes, "axis": "ts", **nowhere, "session_gap": 7, "late": {"every": 30}}
    log: list[list[Entry]] = [
        [Record("l/0", 0, 3, "a", 1), Record("l/0", 1, 15, "a", 2), Record("l/0", 2, 9, "a", 3)],
        [Record("r/0", 0, 4, "a", 4), Record("r/0", 1, 40, "b", 5)],
    ]
    log[0].append(Bound("l/0", 3, 40))
    case = Case(JoinSpec.model_validate(spec), log)
    operator = WindowJoin(case.spec)  # type: ignore[arg-type]
    operator.add(case.log, wall=0)
    assert [(row.left.value, row.right.value) for row in operator.get_result()] == [  # type: ignore[union-attr]
        *((1, 4), (3, 4), (2, 4)),
    ]
    assert operator.get_result() == defined(case)[0]


def test_a_session_join_needs_its_key_among_the_join_keys() -> None:
    nowhere = {"left": {"window": None}, "right": {"window": None}}
    with pytest.raises(ValueError, match="needs the session key among its join keys"):
        _join(session_gap=5, equality=False, **nowhere)


def _spec(**retention: int) -> AggregatorSpec:
    return AggregatorSpec(
        lanes=(LaneSpec(source="s", partition=0),),
        windows=TimeWindows(size=10, step=10),
        aggregate="collect",
        retention=retention,  # type: ignore[arg-type]
    )


def test_a_full_store_pushes_back_and_loses_nothing() -> None:
    operator = WindowedAggregator(_spec(time=0, max_entries=3))
    first = [Record("s/0", offset, offset, "a", offset) for offset in range(2)]
    operator.add(first, wall=0)
    more = [Record("s/0", 2, 12, "a", 2)]
    with pytest.raises(StoreFull, match="max_entries is 3"):
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
    operator = WindowedAggregator(_spec())
    with pytest.raises(error):
        operator.add(entries, wall=0)
    assert operator.lanes["s/0"] == (0, float("-inf"))
    assert operator.get_windows() == []
