"""Random operators, logs drawn to the edges of their windows, and hostile ways to feed them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from windowing import (
    Bound,
    Deliveries,
    JoinFlow,
    KeyOrder,
    LaneStart,
    Late,
    Punctuation,
    Record,
    Retention,
    RowWindow,
    Session,
    Slack,
    Sliding,
    StreamFlow,
    WindowedAggregator,
    WindowJoin,
)
from windowing.model.join import parse_comparison
from windowing.model.windows.window import ROW_NUM, Window
from windowing.runtime.standalone import CallReport

Entry = Record | Bound
Operator = WindowedAggregator | WindowJoin


KINDS = ("time", "session", "rows", "ranked", "row_session")


@dataclass(frozen=True)
class Case:
    """An operator and a log: its lanes, each in offset order."""

    flow: StreamFlow | JoinFlow
    starts: tuple[LaneStart, ...]
    disorder: Slack | Punctuation
    lanes: list[list[Entry]]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def log(self) -> list[Entry]:
        return [entry for lane in self.lanes for entry in lane]

    @property
    def past_end(self) -> bool:
        return bool(self.options.get("past_end"))


_aggregates = st.sampled_from(["count", "sum", "min", "max", "first", "last", "collect", "median"])
_accumulation = st.sampled_from(["accumulating", "discarding", "retracting"])
_refusing = st.sampled_from([Late(policy="drop"), Late(policy="dead_letter")])
_updating = st.sampled_from([1, 2, 5, 5, 10, 12]).map(lambda n: Late(policy="update", every=n))
_lates = st.one_of(_updating, _updating, _updating, _refusing)
_disorders = st.sampled_from([Slack(0), Slack(3), Punctuation()])


_steps = st.tuples(
    st.integers(-2, 7),  # how far time climbs
    st.sampled_from([0, 0, 3, 7, 15]),  # how far behind it the record is
    st.sampled_from(["a", "a", "b", None, "bound"]),
    st.integers(-9, 9),
)


@st.composite
def _lanes(draw: st.DrawFn, starts: Sequence[LaneStart]) -> list[list[Entry]]:
    """Lanes whose times climb with set-backs, with bounds between and most often an end."""
    lanes = []
    for lane in starts:
        now = draw(st.integers(-6, 6))
        entries: list[Entry] = []
        steps = draw(st.lists(_steps, min_size=3, max_size=14))
        for offset, (climb, back, key, value) in enumerate(steps, start=lane.start_offset):
            now += climb
            if key == "bound":
                entries.append(Bound(lane.name, offset, now))
            else:
                entries.append(Record(lane.name, offset, now - back, key, value))
        last = draw(st.sampled_from([math.inf, now + 30, now + 3, None]))
        if last is not None:
            entries.append(Bound(lane.name, lane.start_offset + len(entries), last))
        lanes.append(entries)
    return lanes


@st.composite
def _starts(draw: st.DrawFn, most: int, side: Any = None) -> list[LaneStart]:
    return [
        LaneStart(
            source=side or draw(st.sampled_from("st")),
            partition=number,
            start_offset=draw(st.sampled_from([0, 7])),
            side=side,
        )
        for number in range(draw(st.integers(1, most)))
    ]


def _retention(draw: st.DrawFn, window: Window, *, timed: bool) -> int | None:
    """A length, a number of windows, or the smaller of both."""
    time = draw(st.integers(0, 15)) if draw(st.integers(0, 2)) == 2 else None
    windows = draw(st.integers(0, 3)) if timed and draw(st.integers(0, 2)) == 2 else None
    return Retention(time=time, windows=windows).length_us(window)


@st.composite
def aggregator_cases(draw: st.DrawFn, kinds: Sequence[str] = KINDS, **fixed: Any) -> Case:
    kind = draw(st.sampled_from(kinds))
    starts = draw(_starts(1 if kind in ("rows", "row_session") else 2))
    late, options = draw(_lates), dict[str, Any]()
    size, step = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    window: Window
    if kind == "time":
        origin = draw(st.integers(-5, 5))
        window = Sliding(size, step, "ts", origin=origin, align="start")
    elif kind == "rows":
        window = RowWindow(size % 5 + 1, step % 5 + 1, align="start")
        options["past_end"] = draw(st.booleans())
    elif kind == "ranked":
        window = RowWindow(size % 5 + 1, step % 5 + 1, order="event_time", align="start")
        late = draw(_refusing)
    elif kind == "session":
        window = Session(size, "ts", gaps=draw(st.sampled_from([(), (("b", 3),)])))
    else:
        window = Session(size % 4 + 2, ROW_NUM)
    window = fixed.pop("window", window)
    function = draw(_aggregates)
    flow = {
        "window": window,
        "group_by": draw(st.sampled_from([(), ("key",)])),
        "aggregates": {"value": function if function == "count" else f"{function}(value)"},
        "late": late,
        "retention_us": _retention(draw, window, timed=kind == "time"),
        "accumulation": draw(_accumulation),
    }
    disorder = draw(_disorders)
    return Case(StreamFlow(**flow | fixed), tuple(starts), disorder, draw(_lanes(starts)), options)


_JOINS = ("inner", "left", "right", "full")


def _below(left: Record, right: Record) -> bool:
    """A condition that is no equality."""
    return left.value < right.value


def _far_apart(left: Record, right: Record) -> bool:
    """Another, on values and times."""
    return abs(left.value - right.value) > 5 or left.ts == right.ts


_compared = parse_comparison("left.value < right.value")


@st.composite
def join_cases(draw: st.DrawFn, *, by_clock: bool = False) -> Case:
    axis = draw(st.sampled_from(["ts", "ts", "rows"]))
    most = 1 if axis == "rows" else 2
    starts = [*draw(_starts(most, "left")), *draw(_starts(most, "right"))]
    window = st.one_of(st.none(), st.integers(0, 10))
    flow = {
        "late": draw(_lates),
        "retention_us": draw(st.one_of(st.none(), st.integers(0, 12))),
        "axis": axis,
        "left": draw(window),
        "right": draw(window),
        "kind": "inner" if by_clock else draw(st.sampled_from(_JOINS)),
        "where": draw(st.sampled_from([(), (), (_compared,), _below, _far_apart])),
        "on": draw(st.sampled_from([{}, {"key": "key"}])),
    }
    if not by_clock and draw(st.integers(0, 3)) == 3:
        nowhere = {"axis": "ts", "kind": "inner", "left": None, "right": None}
        flow |= nowhere | {"on": {"key": "key"}, "session_gap": draw(st.integers(1, 9))}
    hints = ("time_range", "large_window", "keyed_store")
    options: dict[str, Any] = {"key_order": KeyOrder(*(draw(st.booleans()) for _ in hints))}
    if by_clock:
        options["by_clock"] = {"left": Deliveries(), "right": Deliveries()}
    disorder = draw(_disorders)
    return Case(JoinFlow(**flow), tuple(starts), disorder, draw(_lanes(starts)), options)


@st.composite
def interleaved(draw: st.DrawFn, lanes: list[list[Entry]]) -> list[Entry]:
    turns = draw(st.permutations([n for n, lane in enumerate(lanes) for _ in lane]))
    rest = [iter(lane) for lane in lanes]
    return [next(rest[turn]) for turn in turns]


def operator_of(case: Case, consumer: Callable[[Any], bool] | None = None) -> Operator:
    """The operator of a case; without a consumer its rows wait."""
    kind: Any = WindowedAggregator if isinstance(case.flow, StreamFlow) else WindowJoin
    return kind(case.flow, case.starts, consumer, disorder=case.disorder, **case.options)


class Feed:
    """Feeds one operator a log with replays, refusals and crashes, as `draw` has it."""

    def __init__(self, case: Case, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw, self.rows, self._budget = draw, [], 10**9
        self.operator: Operator = operator_of(case, self._consume)
        self.dead: list[Any] = []
        self.dropped = 0
        self.wall = 0

    def _consume(self, row: Any) -> bool:
        if self._budget == 0:
            return False
        self._budget -= 1
        self.rows.append(row)
        return True

    def run(self, log: list[Entry], *, hostile: bool) -> None:
        done = 0
        while done < len(log):
            size = self._draw(st.integers(1, 6))
            start = self._draw(st.integers(max(0, done - 3), done)) if hostile else done
            if hostile and self._draw(st.integers(0, 3)) == 0:
                self._budget = self._draw(st.integers(0, 2))
            self._call(log[start : done + size])
            if not self.operator.enabled and self._draw(st.booleans()):
                # What was not checkpointed is sent again, by a source that lost its place as well.
                self.operator.crash()
                self._budget = 10**9
                continue
            self._budget = 10**9
            self.wall += 7
            self.operator.timeout(self.wall)
            assert self.operator.enabled
            done += size

    def _call(self, entries: list[Entry]) -> CallReport:
        self.wall += self._draw(st.integers(0, 9))
        report = self.operator.add(entries, self.wall)
        self.dead += [(d.lane, d.offset) for d in report.dead]
        self.dropped += report.dropped
        return report
