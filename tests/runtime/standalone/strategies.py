"""Random operators, logs drawn to the edges of their windows, and hostile ways to feed them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from windowing import AggregatorSpec, Bound, JoinSpec, Record, WindowedAggregator, WindowJoin
from windowing.model.operator import LaneSpec
from windowing.runtime.standalone import CallReport

Entry = Record | Bound
Operator = WindowedAggregator | WindowJoin


KINDS = ("time", "session", "rows", "ranked", "row_session")


@dataclass(frozen=True)
class Case:
    """An operator and a log: its lanes, each in offset order."""

    spec: AggregatorSpec | JoinSpec
    lanes: list[list[Entry]]

    @property
    def log(self) -> list[Entry]:
        return [entry for lane in self.lanes for entry in lane]


_aggregates = st.sampled_from(["count", "sum", "min", "max", "first", "last", "collect", "median"])
_accumulation = st.sampled_from(["accumulating", "discarding", "retracting"])
_lates = st.sampled_from(
    [
        *({"policy": "update", "every": every} for every in (1, 2, 5, 5, 10, 12)),
        {"policy": "drop"},
        {"policy": "dead_letter"},
    ]
)
_slacks = st.sampled_from([0, 3, None])


_steps = st.tuples(
    st.integers(-2, 7),  # how far time climbs
    st.sampled_from([0, 0, 3, 7, 15]),  # how far behind it the record is
    st.sampled_from(["a", "a", "b", None, "bound"]),
    st.integers(-9, 9),
)


@st.composite
def _lanes(draw: st.DrawFn, specs: Sequence[LaneSpec]) -> list[list[Entry]]:
    """Lanes whose times climb with set-backs, with bounds between and most often an end."""
    lanes = []
    for spec in specs:
        now = draw(st.integers(-6, 6))
        entries: list[Entry] = []
        steps = draw(st.lists(_steps, min_size=3, max_size=14))
        for offset, (climb, back, key, value) in enumerate(steps, start=spec.start_offset):
            now += climb
            if key == "bound":
                entries.append(Bound(spec.name, offset, now))
            else:
                entries.append(Record(spec.name, offset, now - back, key, value))
        last = draw(st.sampled_from([math.inf, now + 30, now + 3, None]))
        if last is not None:
            entries.append(Bound(spec.name, spec.start_offset + len(entries), last))
        lanes.append(entries)
    return lanes


@st.composite
def _lane_specs(draw: st.DrawFn, most: int, side: str | None = None) -> list[LaneSpec]:
    return [
        LaneSpec(
            source=side or draw(st.sampled_from("st")),
            partition=number,
            start_offset=draw(st.sampled_from([0, 7])),
            side=side,  # type: ignore[arg-type]
        )
        for number in range(draw(st.integers(1, most)))
    ]


@st.composite
def aggregator_cases(draw: st.DrawFn, kinds: Sequence[str] = KINDS, **fixed: Any) -> Case:
    kind = draw(st.sampled_from(kinds))
    lanes = draw(_lane_specs(1 if kind in ("rows", "row_session") else 2))
    late = draw(_lates)
    size, step = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    retention: dict[str, int] = {}
    if draw(st.integers(0, 2)) == 2:
        retention["time"] = draw(st.integers(0, 15))
    windows: dict[str, Any] = {"size": size, "step": step}
    if kind == "time":
        windows["origin"] = draw(st.integers(-5, 5))
    elif kind in ("rows", "ranked"):
        windows = {"size": size % 5 + 1, "step": step % 5 + 1, "order": "log"}
        windows["full"] = draw(st.sampled_from(["closed", "past_end"]))
        if kind == "ranked":
            windows |= {"order": "event_time", "full": "closed"}
            late = draw(st.sampled_from([{"policy": "drop"}, {"policy": "dead_letter"}]))
    elif kind == "session":
        windows = {"gap": size, "gap_by_key": draw(st.sampled_from([{}, {"b": 3}]))}
    else:
        windows = {"foreign": size % 4 + 1}
    if "session" not in kind and draw(st.integers(0, 2)) == 2:
        retention["windows"] = draw(st.integers(0, 3))
    spec = {
        "lanes": lanes,
        "slack": draw(_slacks),
        "late": late,
        "retention": retention,
        "windows": windows,
        "aggregate": draw(_aggregates),
        "group": draw(st.booleans()),
        "accumulation": draw(_accumulation),
    }
    return Case(AggregatorSpec.model_validate(spec | fixed), draw(_lanes(lanes)))


_JOINS = ("inner", "left", "right", "full")


def _below(left: Record, right: Record) -> bool:
    """A condition that is no equality."""
    return left.value < right.value


def _far_apart(left: Record, right: Record) -> bool:
    """Another, on values and times."""
    return abs(left.value - right.value) > 5 or left.ts == right.ts


@st.composite
def join_cases(draw: st.DrawFn, **fixed: Any) -> Case:
    axis = draw(st.sampled_from(["ts", "ts", "rows"]))
    most = 1 if axis == "rows" else 2
    lanes = [*draw(_lane_specs(most, "left")), *draw(_lane_specs(most, "right"))]
    window = st.one_of(st.none(), st.integers(0, 10))
    kind = "inner" if fixed.get("clock") == "wall" else draw(st.sampled_from(_JOINS))
    spec = {
        "lanes": lanes,
        "slack": draw(_slacks),
        "late": draw(_lates),
        "retention": {"time": draw(st.integers(0, 12))} if draw(st.booleans()) else {},
        "axis": axis,
        "left": {"window": draw(window)},
        "right": {"window": draw(window)},
        "kind": kind,
        "condition": draw(st.sampled_from([None, None, _below, _far_apart])),
        **{
            name: draw(st.booleans())
            for name in ("equality", "time_range", "large_window", "keyed_store")
        },
    }
    if "clock" not in fixed and draw(st.integers(0, 3)) == 3:
        nowhere = {"left": {"window": None}, "right": {"window": None}}
        in_session = {"axis": "ts", "kind": "inner", "equality": True, **nowhere}
        spec |= in_session | {"session_gap": draw(st.integers(1, 9))}
    return Case(JoinSpec.model_validate(spec | fixed), draw(_lanes(lanes)))


@st.composite
def interleaved(draw: st.DrawFn, lanes: list[list[Entry]]) -> list[Entry]:
    turns = draw(st.permutations([n for n, lane in enumerate(lanes) for _ in lane]))
    rest = [iter(lane) for lane in lanes]
    return [next(rest[turn]) for turn in turns]


class Feed:
    """Feeds one operator a log with replays, refusals and crashes, as `draw` has it."""

    def __init__(self, case: Case, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw, self.rows, self._budget = draw, [], 10**9
        kind = WindowedAggregator if isinstance(case.spec, AggregatorSpec) else WindowJoin
        self.operator: Operator = kind(case.spec, self._consume)  # type: ignore[arg-type]
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
