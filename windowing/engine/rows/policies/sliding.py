"""Sliding windows: tuples leave one by one, and the window reports by its trigger.

Source: Gedik 2014, sections 3.3 and 4.1, Table II; order of events: `spl.md` 4.4 to 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windowing.engine.rows.policies.clock import Deadlines
from windowing.engine.rows.policies.events import Event, Key, Row
from windowing.engine.rows.policies.partitions import Subwindow
from windowing.engine.rows.policies.window import (
    DEFAULT_KEY,
    DueAction,
    PolicyWindow,
    crosses,
    hashable,
    skip_past,
)
from windowing.model.windows.policy import Count, Delta, Policy, PolicyError, Profile, Time

# Table II, made exact: what a tuple does to its partition, in order. E: tuples are evicted, I: it
# is inserted, F: the window is full for the first time, T: the window reports.
_ORDER: dict[tuple[type[Policy], type[Policy]], str] = {
    (Count, Count): "EIFT",
    (Count, Delta): "TEIF",
    (Count, Time): "EIF",
    (Delta, Count): "FEIT",
    (Delta, Delta): "FTEI",
    (Delta, Time): "FEI",
    (Time, Count): "FIT",
    (Time, Delta): "FTI",
    (Time, Time): "FI",
}
_LIBRARY_ORDER = _ORDER | {(Delta, Delta): "TFEI"}


@dataclass
class _Marks:
    """The state of a partition besides its tuples; it outlives them.

    Attributes:
        received: tuples since the last report.
        reference: the attribute that the delta trigger compares with.
        full: whether the window was ever full.
    """

    received: int = 0
    reference: Any = None
    full: bool = False


class SlidingWindow(PolicyWindow):
    """A policy window that evicts tuple by tuple.

    Args:
        eviction: when a tuple leaves: count, delta or time.
        trigger: when the window reports: count, delta or time. The paper's profile demands one;
            only a clause fills in count(1).

    Raises:
        PolicyError: the configuration is invalid.
    """

    def __init__(self, eviction: Policy, trigger: Policy | None = None, **more: Any) -> None:
        super().__init__(**more)
        if trigger is None:
            if self._profile is Profile.paper:
                raise PolicyError("a sliding window needs a trigger, such as count(1)")
            trigger = Count(1)
        for role, policy in (("eviction", eviction), ("trigger", trigger)):
            if not isinstance(policy, Count | Delta | Time):
                msg = f"{policy!r} is no {role} of a sliding window: use count, delta or time"
                raise PolicyError(msg)
        self._eviction, self._trigger = eviction, trigger
        self._expires = isinstance(eviction, Time)
        library = self._profile is Profile.osstreams
        order = (_LIBRARY_ORDER if library else _ORDER)[type(eviction), type(trigger)]
        if eviction == Count(0):
            order = "T"  # stores nothing
        elif isinstance(eviction, Time) and not library:
            order = order.replace("F", "")  # an eviction by the clock makes it full (3.1.2)
        steps = {"E": self._evict, "I": self._take, "F": self._fill, "T": self._report}
        self._steps = [steps[letter] for letter in order]
        self._inserted_at = order.find("I")
        self._marks: dict[Key, _Marks] = {}
        self._deadlines = Deadlines()
        self._tick_us: int | None = None
        if isinstance(trigger, Time):
            self._tick_us = self._clock.now_us + trigger.period_us
        if isinstance(trigger, Time) or isinstance(eviction, Time):
            self._has_timers()

    def insert(self, row: Row) -> None:
        """Process a tuple: evict, insert and report in the order of the policies."""
        key, part = self._admit(row)
        for number, step in enumerate(self._steps):
            step(key, part, row)
            gone = number >= self._inserted_at >= 0 and key not in self._partitions
            if gone and self._profile is Profile.paper:
                return

    def rows(self, key: Key = None) -> list[Row] | None:
        """Return the tuples of a partition, oldest first; None: there is no such partition.

        The default partition is there, empty, until it has had tuples and evictions removed it.
        """
        found = super().rows(key)
        default = DEFAULT_KEY if self.partitioned else None
        return [] if found is None and key == default and key not in self._marks else found

    # --- the steps of an insert ---------------------------------------------------------------

    def _take(self, key: Key, part: Subwindow, row: Row) -> None:
        handled = self._handlers.of_inserts
        if handled:
            self._tell(Event.before_insert, key, row)
        part.entries.append((row, self._clock.now_us))
        if handled:
            self._tell(Event.after_insert, key, row)
        if self._count_in(key) and self._expires:
            self._await_eviction(key, part)

    def _evict(self, key: Key, part: Subwindow, row: Row) -> None:
        """Evict the tuples that a new one displaces; none under a time policy."""
        eviction = self._eviction
        if isinstance(eviction, Count):
            if len(part.entries) == eviction.size:
                self._evict_at(key, part, 0)
        elif isinstance(eviction, Delta):
            at = 0
            while at < len(part.entries):
                if crosses(eviction, row, part.entries[at][0]):
                    self._evict_at(key, part, at)
                else:
                    at += 1

    def _evict_at(self, key: Key, part: Subwindow, at: int) -> None:
        row, _ = part.entries[at]
        self._tell(Event.before_evict, key, row)
        if at:
            del part.entries[at]
        else:
            part.entries.popleft()
        self._partitions.total -= 1
        self._tell(Event.after_evict, key, row)

    def _fill(self, key: Key, part: Subwindow, row: Row) -> None:
        """Signal once that the window is full, unless its own tuple evicted the partition."""
        marks = self._marks_of(key)
        if marks.full or (self._inserted_at >= 0 and key not in self._partitions):
            return
        eviction = self._eviction
        if isinstance(eviction, Count):
            full = len(part.entries) == eviction.size
        elif isinstance(eviction, Delta):
            full = any(crosses(eviction, row, old) for old, _ in part.entries)
        else:
            full = True
        if full:
            marks.full = True
            self._tell(Event.initial_full, key)

    def _report(self, key: Key, part: Subwindow, row: Row) -> None:
        """Report if the trigger is due; time triggers are handled elsewhere."""
        trigger, marks = self._trigger, self._marks_of(key)
        if isinstance(trigger, Count):
            marks.received += 1
            if marks.received == trigger.size:
                if self._profile is Profile.paper:
                    marks.received = 0
                self._tell(Event.trigger, key)
                marks.received = 0 if self._profile is Profile.osstreams else marks.received
        elif isinstance(trigger, Delta):
            name = trigger.attribute
            if marks.reference is None:
                marks.reference = row[name]
            elif crosses(trigger, row, {name: marks.reference}):
                self._tell(Event.trigger, key)
                marks.reference = row[name]

    def _marks_of(self, key: Key) -> _Marks:
        marks = self._marks.get(key)
        if marks is None:
            marks = self._marks[key] = _Marks()
        return marks

    def _give_up(self, key: Key) -> None:
        self._marks.pop(key, None)
        self._deadlines.drop(key)
        super()._give_up(key)

    # --- by the clock -------------------------------------------------------------------------

    def next_due(self) -> DueAction | None:
        """Return what is due next; None: nothing."""
        earliest, now_us = self._deadlines.earliest(), self._clock.now_us
        tick_us = self._tick_us
        if earliest is not None and (
            tick_us is None or max(earliest[0], now_us) < max(tick_us, now_us)
        ):
            due_us, key = earliest
            return due_us, False, lambda: self._outlive(key, due_us)
        return None if tick_us is None else (tick_us, True, self._tick)

    def _await_eviction(self, key: Key, part: Subwindow) -> None:
        if isinstance(self._eviction, Time) and len(part.entries):
            due_us = part.entries[0][1] + self._eviction.period_us
            # Partitions with the same instant come in the order of their creation.
            self._deadlines.put(key, due_us, part.number)

    def _outlive(self, key: Key, due_us: int) -> None:
        """Evict the tuples that expire just after an instant."""
        self._deadlines.drop(key)
        part, eviction = self._partitions[key], self._eviction
        assert isinstance(eviction, Time)  # noqa: S101 - only Time sets deadlines
        if self._profile is Profile.paper and not self._marks_of(key).full:
            self._marks_of(key).full = True
            self._tell(Event.initial_full, key)
        while len(part.entries) and part.entries[0][1] + eviction.period_us <= due_us:
            self._evict_at(key, part, 0)
        if len(part.entries):
            self._await_eviction(key, part)
        elif self._profile is Profile.osstreams:
            # Counter, reference and mark survive; the paper also keeps the empty partition.
            self._partitions.remove(key)

    def _tick(self) -> None:
        """Fire the time trigger: one sweep over all partitions."""
        assert isinstance(self._trigger, Time)  # noqa: S101 - only Time ticks
        assert self._tick_us is not None  # noqa: S101 - it is due now
        period_us, began_us = self._trigger.period_us, self._clock.now_us
        self._check_age()
        keys = list(self._partitions)
        if not keys and not self.partitioned:
            keys = [None]
        elif not keys and self._profile is Profile.osstreams:
            keys = [DEFAULT_KEY]
        for key in keys:
            self._tell(Event.trigger, key)
        if self._profile is Profile.paper:
            self._tick_us += period_us
        else:
            self._tick_us = max(began_us + period_us, self._clock.now_us)

    def _resume(self) -> None:
        super()._resume()
        if self._tick_us is not None and isinstance(self._trigger, Time):
            self._tick_us = skip_past(self._tick_us, self._trigger.period_us, self._clock.now_us)

    # --- state --------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the window's state."""
        marks = [[key, m.received, m.reference, m.full] for key, m in self._marks.items()]
        return {
            "partitions": self._partitions_state(),
            "marks": marks,
            "tick": self._tick_us,
            "suspended": self._suspended,
        }

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        self.reset()
        self._restore_partitions(snapshot["partitions"])
        if timers:
            self._tick_us, self._suspended = snapshot["tick"], snapshot["suspended"]
        for key, received, reference, full in snapshot["marks"]:
            self._marks[hashable(key)] = _Marks(received, reference, full)
        for key in self._partitions:
            self._await_eviction(key, self._partitions[key])

    def reset(self) -> None:
        """Delete all state."""
        self._partitions.clear()
        self._marks.clear()
        self._deadlines.clear()
        self.suspend()
