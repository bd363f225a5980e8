"""The base of policy windows: access, partition eviction, timers, state.

Source: Gedik 2014, sections 3.5 and 4.1. A window is a plain state machine without threads. Its
owner passes the time by `advance`; everything due by then happens in order. A `Driver` does so by
the machine's clock, from a second thread, under the window's lock.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import itemgetter
from typing import Any

from windowing.engine.rows.policies.clock import Clock, ManualClock
from windowing.engine.rows.policies.events import Event, Handler, Handlers, Key, Row
from windowing.engine.rows.policies.partitions import Partitions, Storage, Subwindow, choose, needed
from windowing.model.windows.policy import (
    Delta,
    Marker,
    PartitionAge,
    PartitionEviction,
    PolicyError,
    Profile,
    Selection,
)

Select = Callable[[Sequence[tuple[Key, int]]], Sequence[Key]]
"""A user's selection: from candidates with their last update, least recent first, to victims."""

DEFAULT_KEY = "__default__"
"""The partition that the library invents for a tick of a partitioned window without partitions."""

_NO_LOCK = nullcontext()

DueAction = tuple[int, bool, Callable[[], None]]
"""A due instant, whether the action is at it (or just after it), and the action."""

PartitionBy = str | Sequence[str] | Callable[[Row], Key] | None


class PolicyWindow(ABC):
    """A window with policies for eviction and trigger.

    Args:
        partition_by: the fields that name a tuple's partition, or a function of the tuple; None:
            one partition, named None.
        partition_eviction: which partitions are evicted; needs `partition_by`.
        profile: the rules to follow where sources differ.
        clock: the window's clock; by default, the last instant of `advance`.
        storage: of the tuples.
    """

    def __init__(
        self,
        *,
        partition_by: PartitionBy = None,
        partition_eviction: PartitionEviction | None = None,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        if partition_eviction is not None and partition_by is None:
            msg = "partition eviction needs partitions: give partition_by"
            raise PolicyError(msg)
        self.partitioned = partition_by is not None
        self._key_of = key_function(partition_by)
        self._partition_eviction = partition_eviction
        self._by_age = isinstance(partition_eviction, PartitionAge)
        # The instant at which ages were checked last: until the clock moves, none is exceeded.
        self._checked_us: int | None = None
        self._profile = profile
        self._clock = clock or ManualClock()
        self._handlers = Handlers()
        self._tell = self._handlers.tell
        self._select: Select | None = None
        self._partitions = Partitions(storage or Storage())
        self._lock: AbstractContextManager[Any] = _NO_LOCK
        # After a reset or restore, nothing happens by the clock until the next tuple.
        self._suspended = False

    # --- what an operator calls ---------------------------------------------------------------

    def on(self, kind: Event | str, handler: Handler | None) -> Handler | None:
        """Register the handler of a kind of event; return the previous one."""
        return self._handlers.register(kind, handler)

    def on_selection(self, select: Select | None) -> None:
        """Register the function that chooses partitions to evict, for `Selection.user`."""
        self._select = select

    @abstractmethod
    def insert(self, row: Row) -> None:
        """Process a tuple."""

    def punctuate(self, marker: Marker) -> None:
        """Process a punctuation.

        Raises:
            PolicyError: no policy of this window uses it.
        """
        msg = f"a {marker} punctuation means nothing here: only tumbling windows by punct take one"
        raise PolicyError(msg)

    def advance(self, to_us: int) -> None:
        """Do everything due up to an instant, in order.

        A handler may take time: actions that become due are done if they begin by the instant.
        """
        clock = self._clock
        while (due := self.awaited()) is not None and _begins(due, clock.now_us, to_us):
            due_us, _, action = due
            clock.wait_until(due_us)
            action()
        clock.wait_until(to_us)

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant: `advance`, by the name that operators have for it."""
        self.advance(now_us)

    def locked(self) -> AbstractContextManager[Any]:
        """Return the window's lock, for access from outside its handlers: `with window.locked():`.

        Only a window with a time policy has a second thread, and hence a lock (4.1.4).
        """
        return self._lock

    # --- window access (section 4.1.4) --------------------------------------------------------

    @property
    def keys(self) -> list[Key]:
        """Return the keys of the existing partitions."""
        return list(self._partitions)

    def rows(self, key: Key = None) -> list[Row] | None:
        """Return the tuples of a partition, oldest first; None: there is no such partition."""
        subwindow = self._partitions.get(key)
        return None if subwindow is None else [row for row, _ in subwindow.entries]

    def size(self, key: Key = None) -> int:
        """Return how many tuples a partition has, including summarized ones."""
        subwindow = self._partitions.get(key)
        return 0 if subwindow is None else len(subwindow)

    def __iter__(self) -> Iterator[tuple[Key, list[Row]]]:
        for key in self.keys:
            yield key, self.rows(key) or []

    def __len__(self) -> int:
        """Return how many tuples all partitions have."""
        return self._partitions.total

    # --- state (section 8 of the reference) ---------------------------------------------------

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """Return the window's state, as plain values and the tuples themselves."""

    @abstractmethod
    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot.

        Args:
            snapshot: of a window of the same configuration.
            timers: also restore the phase of its timers, to resume in another process; otherwise
                the phase stays, and timers rest until the next tuple (`spl.md` 8).
        """

    @abstractmethod
    def reset(self) -> None:
        """Delete all state, without window events; timers rest until the next tuple."""

    def suspend(self) -> None:
        """Let timers rest until the next tuple, as while a region drains: due ticks are skipped."""
        self._suspended = True

    def _resume(self) -> None:
        self._suspended = False

    def _has_timers(self) -> None:
        """Note that a policy depends on the clock, so that there may be a second thread."""
        self._lock = threading.RLock()

    def _partitions_state(self) -> list[Any]:
        """Return the partitions in the order of their creation, with their ranks of recency."""
        recency = {key: rank for rank, key in enumerate(self._partitions.updated_us)}
        updated_us = self._partitions.updated_us
        return [
            [key, recency.get(key), updated_us.get(key), self._subwindow_state(key)]
            for key in self._partitions
        ]

    def _subwindow_state(self, key: Key) -> list[Any]:
        part = self._partitions[key]
        return [[list(entry) for entry in part.entries], part.created_us, part.inserts]

    def _restore_partitions(self, state: list[Any]) -> None:
        self._partitions.clear()
        self._checked_us = None
        updated = list[tuple[int, Key, int]]()
        for key, rank, updated_us, (entries, created_us, inserts, *more) in state:
            part = self._partitions.open(hashable(key), created_us)
            for row, arrived_us in entries:
                part.entries.append((row, arrived_us))
            part.inserts = inserts
            self._restore_more(hashable(key), part, more)
            self._partitions.total += len(part)
            if rank is not None:
                updated.append((rank, hashable(key), updated_us))
        for _, key, updated_us in sorted(updated, key=lambda one: one[0]):
            self._partitions.updated_us[key] = updated_us

    def _restore_more(self, key: Key, part: Subwindow, more: list[Any]) -> None:
        """Restore a subclass's state of a partition besides its tuples; here none."""
        assert not more, key  # noqa: S101 - `_subwindow_state` here has no more

    # --- what kinds of windows have in common -------------------------------------------------

    @property
    def clock(self) -> Clock:
        """What the window takes for the time."""
        return self._clock

    def awaited(self) -> DueAction | None:
        """Return what happens next by the clock; None: nothing."""
        return None if self._suspended else self.next_due()

    def next_due(self) -> DueAction | None:
        """Return what is due next; None: nothing."""
        return None

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due; None: nothing is."""
        due = self.next_due()
        # What is due just after an instant is due once the clock has passed it.
        return None if due is None else due[0] + (not due[1])

    def _admit(self, row: Row) -> tuple[Key, Subwindow]:
        """Prepare an insert: evict partitions that are too old, open the tuple's own."""
        key = self._key_of(row) if self.partitioned else None
        if self._suspended:
            self._resume()
        if self._by_age:
            self._check_age()
        part = self._partitions.get(key)
        return key, self._partitions.open(key, self._clock.now_us) if part is None else part

    def _count_in(self, key: Key) -> bool:
        """Finish an insert; false: it evicted the tuple's own partition."""
        if self._partition_eviction is None:
            # Nobody asks then which partitions were updated when.
            self._partitions.total += 1
            return True
        self._partitions.touch(key, self._clock.now_us)
        if not self._by_age:
            self._evict_partitions()
        return key in self._partitions

    def _check_age(self) -> None:
        """Evict partitions that are too old, before a tuple, a tick or a punctuation."""
        if self._by_age and self._checked_us != self._clock.now_us:
            self._checked_us = self._clock.now_us
            self._evict_partitions()

    def _evict_partitions(self) -> None:
        """Evict partitions until the policy is satisfied: at most two passes, the second LRU."""
        policy = self._partition_eviction
        if policy is None:
            return
        if not needed(policy, self._partitions, self._clock.now_us, self._profile):
            return
        selection = Selection.lru if isinstance(policy, PartitionAge) else policy.selection
        for chosen_by in (selection, Selection.lru):
            if not needed(policy, self._partitions, self._clock.now_us, self._profile):
                return
            if chosen_by is Selection.user and self._select is None:
                if self._profile is Profile.osstreams:
                    return
                continue
            victims = self._victims(policy, chosen_by)
            if victims:
                self._tell(Event.partition_eviction, victims=tuple(victims))
                for key in victims:
                    self._give_up(key)

    def _victims(self, policy: PartitionEviction, selection: Selection) -> list[Key]:
        if selection is Selection.user and self._select is not None:
            chosen = self._select([*self._partitions.updated_us.items()])
            return [key for key in chosen if key in self._partitions]
        now_us = self._clock.now_us
        return choose(policy, selection, self._partitions, now_us, self._profile)

    def _give_up(self, key: Key) -> None:
        self._partitions.remove(key)


def with_rows(snapshot: dict[str, Any], change: Callable[[Row], Row]) -> dict[str, Any]:
    """Return a window's snapshot with another form of each tuple.

    Args:
        snapshot: of a window; it stays as it is.
        change: from a tuple of the snapshot to its other form.
    """
    parts = [
        [*head, [[[change(row), arrived_us] for row, arrived_us in entries], *more]]
        for *head, (entries, *more) in snapshot["partitions"]
    ]
    return {**snapshot, "partitions": parts}


def advance_together(windows: Sequence[PolicyWindow], to_us: int) -> None:
    """Do everything due in windows of one clock up to an instant, in order.

    At one instant timers come before evictions, which happen just after it.
    """
    if len(windows) == 1:
        windows[0].advance(to_us)  # every record may tick, and this is faster
        return
    clock = windows[0].clock
    while True:
        found = [due for window in windows if (due := window.awaited()) is not None]
        if not found:
            break
        due_us, at_once, action = min(
            found, key=lambda due: (max(due[0], clock.now_us), not due[1], due[0])
        )
        if not _begins((due_us, at_once, action), clock.now_us, to_us):
            break
        clock.wait_until(due_us)
        action()
    clock.wait_until(to_us)


def _begins(due: DueAction, now_us: int, to_us: int) -> bool:
    """Return whether an action begins by an instant; one that is overdue begins now."""
    due_us, at_once, _ = due
    begins_us = due_us if due_us > now_us else now_us
    return begins_us < to_us or (begins_us == to_us and at_once)


def skip_past(due_us: int, period_us: int, now_us: int) -> int:
    """Return the first instant of a timer's phase after now."""
    return due_us if due_us > now_us else now_us + period_us - (now_us - due_us) % period_us


def key_function(partition_by: PartitionBy) -> Callable[[Row], Key]:
    """Return the function from a tuple to its partition's key."""
    if partition_by is None:
        return lambda _: None
    if callable(partition_by):
        return partition_by
    if isinstance(partition_by, str):
        name = partition_by
        return lambda row: row[name]
    if len(partition_by) == 1:
        (only,) = partition_by
        return lambda row: (row[only],)
    return itemgetter(*partition_by)


def hashable(key: Any) -> Key:
    """Return a key with lists, from an encoding, turned back into tuples."""
    return tuple(hashable(part) for part in key) if isinstance(key, list) else key


def crosses(policy: Delta, new: Row, old: Row) -> bool:
    """Return whether a tuple's attribute exceeds another's by more than the threshold."""
    value, reference = new[policy.attribute], old[policy.attribute]
    return bool(value > reference and value - reference > policy.threshold)
