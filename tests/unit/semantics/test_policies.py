"""Policy windows: the engine shows what the definition says, for every pair of policies.

The paper's profile. Windows are rebuilt from a snapshot now and then, which must not show.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.unit.semantics import library_windows
from windowing.engine.rows.policies import (
    Event,
    ManualClock,
    SlidingWindow,
    TumblingWindow,
    WindowEvent,
)
from windowing.model.windows.policy import (
    Count,
    Delta,
    Marker,
    PartitionAge,
    PartitionCount,
    Profile,
    Punct,
    Selection,
    Time,
    TupleCount,
    WindowClause,
)
from windowing.semantics.windows.history import Advance, Insert, Mark, Observation, Operation
from windowing.semantics.windows.policies import evaluate

_EXAMPLES = max(settings.default.max_examples * 3, 40) if settings.default else 40
_QUARTER_US = 250_000
_SELECTIONS = st.sampled_from([Selection.lru, Selection.lfu, Selection.oldest])
_POLICIES = st.one_of(
    st.integers(0, 4).map(Count),
    st.builds(Delta, st.just("v"), st.sampled_from([0, 1, 2, 5])),
    st.integers(1, 6).map(Time),
)
_PARTITION_EVICTIONS = st.one_of(
    st.none(),
    st.builds(PartitionCount, st.integers(1, 3), _SELECTIONS),
    st.builds(TupleCount, st.integers(1, 5), _SELECTIONS),
    st.integers(1, 4).map(PartitionAge),
)
_SHOWN = {
    Event.before_flush: "flush",
    Event.trigger: "trigger",
    Event.initial_full: "initialFull",
    Event.before_evict: "evict",
    Event.partition_eviction: "partitionEviction",
    Event.empty_window_punct: "emptyWindowPunct",
}


@st.composite
def clauses(draw: st.DrawFn) -> WindowClause:
    by = draw(st.sampled_from([(), ("k",)]))
    evicts = draw(_PARTITION_EVICTIONS) if by else None
    if draw(st.booleans()):
        return WindowClause("tumbling", draw(_POLICIES | st.just(Punct())), None, by, evicts)
    return WindowClause("sliding", draw(_POLICIES), draw(_POLICIES), by, evicts)


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    operations: list[Operation] = []
    now = value = 0
    for _ in range(draw(st.integers(1, 30))):
        match draw(st.sampled_from("iiiiaam")):
            case "i":
                value += draw(st.sampled_from([0, 1, 1, 2, 4, -1]))
                operations.append(Insert({"v": value, "k": draw(st.integers(0, 3))}))
            case "a":
                now += draw(st.integers(0, 4))
                operations.append(Advance(now))
            case "m":
                operations.append(Mark())
    return operations


class Engine:
    """The window that a clause describes, and what it has shown."""

    def __init__(self, clause: WindowClause, profile: Profile = Profile.paper) -> None:
        self._clause, self._profile, self._clock = clause, profile, ManualClock()
        self.shown: list[Observation] = []
        self.step = self._tuples = 0
        self._window = self._build()

    def _build(self) -> TumblingWindow | SlidingWindow:
        clause = self._clause
        common: dict[str, Any] = {
            "partition_by": clause.partition_by or None,
            "partition_eviction": clause.partition_eviction,
            "clock": self._clock,
            "profile": self._profile,
        }
        window: TumblingWindow | SlidingWindow
        if clause.kind == "tumbling":
            window = TumblingWindow(clause.eviction, **common)
        else:
            assert clause.trigger is not None
            window = SlidingWindow(clause.eviction, clause.trigger, **common)
        for kind in _SHOWN:
            window.on(kind, self._show)
        return window

    def _show(self, event: WindowEvent) -> None:
        found = self._window.rows(event.key)
        # The library removes what evictions emptied (D3); the paper's partitions are there.
        absent = self._profile is Profile.osstreams or event.kind is Event.partition_eviction
        assert found is not None or absent, event
        rows = found or []
        key: Any = event.key
        if event.kind is Event.before_evict:
            rows = [event.row]
        elif event.kind is Event.partition_eviction:
            rows, key = [], event.victims
        numbers = tuple(row["n"] for row in rows)
        at_us, kind = self._clock.now_us, _SHOWN[event.kind]
        self.shown.append(Observation(self.step, at_us, kind, key, numbers))  # type: ignore[arg-type]

    def rebuild(self) -> None:
        snapshot = json.loads(json.dumps(self._window.snapshot()))
        self._window = self._build()
        self._window.restore(snapshot, timers=True)

    def apply(self, operation: Operation) -> None:
        if isinstance(operation, Insert):
            self._tuples += 1
            self._window.insert({**operation.row, "n": self._tuples})
        elif isinstance(operation, Advance):
            self._window.advance(operation.to_us)
        elif isinstance(self._clause.eviction, Punct):
            self._window.punctuate(Marker.window)


def by_place(shown: list[Observation]) -> dict[tuple[Any, ...], list[Observation]]:
    """The order between partitions at one instant is open."""
    places: dict[tuple[Any, ...], list[Observation]] = {}
    for one in shown:
        key = None if one.kind == "partitionEviction" else one.key
        places.setdefault((one.step, one.at_us, key), []).append(one)
    return places


@settings(max_examples=_EXAMPLES)
@given(clause=clauses(), operations=histories(), data=st.data())
def test_the_engine_shows_what_is_defined(
    clause: WindowClause, operations: list[Operation], data: st.DataObject
) -> None:
    engine = Engine(clause)
    for step, operation in enumerate(operations):
        if data.draw(st.integers(0, 3)) == 0:
            engine.rebuild()
        engine.step = step
        engine.apply(operation)
    defined = [one for one in evaluate(clause, operations) if one.kind in _SHOWN.values()]
    assert by_place(engine.shown) == by_place(defined)


@settings(max_examples=_EXAMPLES)
@given(clause=clauses(), operations=histories(), data=st.data())
def test_the_engine_shows_what_the_library_does(
    clause: WindowClause, operations: list[Operation], data: st.DataObject
) -> None:
    """The library measures ages in whole seconds: here, a unit of time is a quarter of one."""
    clause, operations = slowed(clause), [slowed_operation(one) for one in operations]
    engine = Engine(clause, Profile.osstreams)
    for step, operation in enumerate(operations):
        if data.draw(st.integers(0, 3)) == 0:
            engine.rebuild()
        engine.step = step
        engine.apply(operation)
        assume(not self_evicted(engine.shown, step, operation))
    defined = library_windows.evaluate(clause, operations)
    shown = [one for one in defined if one.kind in _SHOWN.values()]
    assert by_place(engine.shown) == by_place(shown)


def slowed(clause: WindowClause) -> WindowClause:
    def policy(one: Any) -> Any:
        if isinstance(one, Time):
            return Time(one.period_us * _QUARTER_US)
        if isinstance(one, PartitionCount | TupleCount):
            return replace(one, selection=Selection.lru)  # the library has no other
        return PartitionAge(one.age_us * _QUARTER_US) if isinstance(one, PartitionAge) else one

    return replace(
        clause,
        eviction=policy(clause.eviction),
        trigger=policy(clause.trigger),
        partition_eviction=policy(clause.partition_eviction),
    )


def slowed_operation(operation: Operation) -> Operation:
    if isinstance(operation, Advance):
        return Advance(operation.to_us * _QUARTER_US)
    return operation


def self_evicted(shown: list[Observation], step: int, operation: Operation) -> bool:
    """Whether the insertion of a tuple evicted its own partition (D14)."""
    return isinstance(operation, Insert) and any(
        (operation.row["k"],) in one.key
        for one in shown
        if one.step == step and one.kind == "partitionEviction"
    )
