"""Policy windows by a clock: the machine's, a replay's; slow handlers, second threads, rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from time import time_ns
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing import Driver, WallClock
from windowing.engine.rows.operators import (
    Aggregate,
    Join,
    JoinKind,
    Operator,
    Output,
    sliding,
)
from windowing.engine.rows.operators.user import HandlerOperator
from windowing.engine.rows.policies import (
    Event,
    ManualClock,
    PolicyError,
    PolicyWindow,
    Profile,
    SlidingWindow,
    TumblingWindow,
    WindowEvent,
    count,
    delta,
    partition_age,
    time,
)

SECOND_US = 1_000_000


class Machine:
    """A clock of the machine that the test sets, in seconds."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> int:
        return round(self.at * 1e9)


WINDOWS: list[Callable[[ManualClock], PolicyWindow]] = [
    lambda clock: SlidingWindow(time(3), time(2), clock=clock, partition_by="k"),
    lambda clock: SlidingWindow(time(2), delta("v", 1), clock=clock),
    lambda clock: SlidingWindow(count(2), time(1), clock=clock),
    lambda clock: TumblingWindow(time(2), clock=clock),
    lambda clock: TumblingWindow(
        time(2), clock=clock, partition_by="k", partition_eviction=partition_age(3)
    ),
    lambda clock: TumblingWindow(
        count(2), clock=clock, partition_by="k", partition_eviction=partition_age(1)
    ),
]


def recorder(window: PolicyWindow, clock: ManualClock) -> list[Any]:
    """All that a window shows from now on, with contents and times."""
    seen: list[Any] = []

    def record(event: WindowEvent) -> None:
        seen.append((clock.now_us, event.kind, event.key, event.victims, window.rows(event.key)))

    for kind in Event:
        window.on(kind, record)
    return seen


@given(
    build=st.sampled_from(WINDOWS),
    calls=st.lists(
        st.tuples(st.floats(0, 3), st.none() | st.tuples(st.integers(0, 2), st.integers(0, 9)))
    ),
)
def test_a_recorded_run_by_the_machines_clock_replays_equal(
    build: Callable[[ManualClock], PolicyWindow],
    calls: list[tuple[float, tuple[int, int] | None]],
) -> None:
    machine = Machine()
    clock = WallClock(machine)
    window = build(clock)
    shown, log = recorder(window, clock), []
    driver = Driver(window, clock)
    replay_clock = ManualClock(clock.now_us)
    for passed, row in calls:
        machine.at += passed
        if row is None:
            log.append((driver.poll(), None))
        else:
            tuple_ = {"k": row[0], "v": row[1]}
            driver.call(window.insert, tuple_)
            log.append((clock.now_us, tuple_))
    replayed = build(replay_clock)
    again = recorder(replayed, replay_clock)
    for at_us, record in log:
        replayed.advance(at_us)
        if record is not None:
            replayed.insert(record)
    assert shown == again


@pytest.mark.parametrize(
    ("profile", "begins"),
    [(Profile.paper, [2, 7, 7, 8, 10]), (Profile.osstreams, [2, 7, 9, 11])],
)
def test_a_slow_handler_of_the_machine_delays_ticks(profile: Profile, begins: list[int]) -> None:
    """D6 of the reference: a period of 2 s, and a first report that takes 5 s."""
    machine, seen = Machine(), list[float]()
    clock = WallClock(machine)
    window = SlidingWindow(count(2), time(2), profile=profile, clock=clock)

    def slow(_: WindowEvent) -> None:
        seen.append(clock.now_us / SECOND_US - 100)
        machine.at += 5 if len(seen) == 1 else 0

    window.on(Event.trigger, clock.timing(slow))
    driver = Driver(window, clock)
    machine.at = 102
    while machine.at < 111.5:
        driver.poll()
        machine.at += 0.5
    assert seen == begins


def test_the_machines_clock_never_goes_back() -> None:
    machine = Machine()
    clock = WallClock(machine)
    window = SlidingWindow(time(1), count(1), clock=clock)
    driver = Driver(window, clock)
    driver.call(window.insert, "a")
    machine.at -= 50
    driver.call(window.insert, "b")
    assert clock.now_us == 100 * SECOND_US
    assert window.rows() == ["a", "b"]


@pytest.fixture(params=["window", "join"])
def driven(request: pytest.FixtureRequest) -> Iterator[tuple[Any, WallClock, threading.Event]]:
    clock, left = WallClock(time_ns), threading.Event()
    if request.param == "window":
        window = SlidingWindow(time(0.02), count(1), clock=clock)
        window.on(Event.after_evict, lambda _: left.set())
        yield window, clock, left
        return
    yield (
        Join(
            sliding(time(0.02)),
            sliding(count(1)),
            lambda one, other: {**one, **other},
            lambda _: left.set(),
            kind=JoinKind.left_outer,
            clock=clock,
        ),
        clock,
        left,
    )


def test_a_second_thread_evicts_with_no_tuple_arriving(
    driven: tuple[Any, WallClock, threading.Event],
) -> None:
    by_clock, clock, left = driven
    with Driver(by_clock, clock, every_s=0.001) as driver:
        driver.call(by_clock.insert, {"v": 1})
        assert left.wait(10)


def test_what_a_handler_raises_in_the_thread_is_raised_in_the_caller() -> None:
    clock, raised = WallClock(time_ns), threading.Event()
    window = TumblingWindow(time(0.01), clock=clock)

    def fail(_: WindowEvent) -> None:
        raised.set()
        raise RuntimeError("of the handler")

    window.on(Event.before_flush, fail)
    with (
        pytest.raises(RuntimeError, match="of the handler"),
        Driver(window, clock, every_s=0.001),
    ):
        assert raised.wait(10)


def test_handlers_wait_for_whoever_holds_the_lock() -> None:
    clock, fired = WallClock(time_ns), threading.Event()
    window = TumblingWindow(time(0.01), clock=clock)
    window.on(Event.before_flush, lambda _: fired.set())
    with Driver(window, clock, every_s=0.001):
        assert fired.wait(10)
        with window.locked():
            fired.clear()
            assert not fired.wait(0.05)
        assert fired.wait(10)


@pytest.mark.parametrize(
    ("window", "has_lock"),
    [
        (SlidingWindow(count(1), count(1)), False),
        (SlidingWindow(delta("v", 1), delta("v", 1)), False),
        (SlidingWindow(count(1), time(1)), True),
        (SlidingWindow(time(1), count(1)), True),
        (TumblingWindow(count(1)), False),
        (TumblingWindow(time(1)), True),
        (TumblingWindow(count(1), partition_by="k", partition_eviction=partition_age(1)), False),
    ],
)
def test_only_time_policies_have_a_lock(window: PolicyWindow, has_lock: bool) -> None:
    assert isinstance(window.locked(), nullcontext) is not has_lock


@pytest.mark.parametrize("partitioned", [None, "k"])
@pytest.mark.parametrize("stop", ["reset", "restore", "suspend"])
def test_timers_rest_until_the_next_tuple(partitioned: str | None, stop: str) -> None:
    """Ticks due meanwhile are skipped; the phase stays."""
    window = SlidingWindow(count(2), time(2), partition_by=partitioned)
    ticks: list[int] = []
    window.on(Event.trigger, lambda _: ticks.append(window.clock.now_us // SECOND_US))
    window.insert({"k": 1})
    window.advance(3 * SECOND_US)
    if stop == "restore":
        window.restore(window.snapshot())
    else:
        getattr(window, stop)()
    window.advance(9 * SECOND_US)
    window.insert({"k": 1})
    window.advance(12 * SECOND_US)
    assert ticks == [2, 10, 12]


def test_a_handler_may_insert_or_raise() -> None:
    """D12: the paper resets the trigger's counter before its handler, the library after."""
    shown: dict[Profile, list[list[int]]] = {}
    for profile in Profile:
        window, reports = SlidingWindow(count(9), count(2), profile=profile), list[list[int]]()

        def insert_once(
            _: WindowEvent, window: SlidingWindow = window, reports: list[list[int]] = reports
        ) -> None:
            reports.append(window.rows() or [])
            if len(reports) == 1:
                window.insert(100)

        window.on(Event.trigger, insert_once)
        for number in range(1, 6):
            window.insert(number)
        shown[profile] = reports
    assert shown == {
        Profile.paper: [[1, 2], [1, 2, 100, 3], [1, 2, 100, 3, 4, 5]],
        Profile.osstreams: [[1, 2], [1, 2, 100, 3, 4]],
    }

    window = SlidingWindow(count(9), count(2))
    failing = [True, False]

    def fail(_: WindowEvent) -> None:
        if failing.pop(0):
            raise RuntimeError

    window.on(Event.trigger, fail)
    window.insert(1)
    with pytest.raises(RuntimeError):
        window.insert(2)
    window.insert(3)
    assert failing == [False]
    window.insert(4)
    assert failing == []


def test_a_window_object_needs_its_trigger() -> None:
    """D13: only a clause fills in count(1); the library's profile does, too."""
    with pytest.raises(PolicyError, match="trigger"):
        SlidingWindow(count(1))
    library, seen = SlidingWindow(count(1), profile=Profile.osstreams), list[object]()
    library.on(Event.trigger, seen.append)
    library.insert(1)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "operator",
    [
        Aggregate(sliding(time(1), time(1)), {"n": Output("Count")}, lambda _: None),
        Join(sliding(count(1)), sliding(time(1)), lambda left, _: left, lambda _: None),
        HandlerOperator(sliding(time(1)), (), lambda *_: (), lambda _: None),
    ],
    ids=lambda operator: type(operator).__name__,
)
def test_operators_lend_their_windows_locks(operator: Operator) -> None:
    taken = threading.Event()

    def take() -> None:
        with operator.locked():
            taken.set()

    other = threading.Thread(target=take, daemon=True)
    with operator.locked():
        other.start()
        assert not taken.wait(0.05)
    assert taken.wait(10)
    other.join()
