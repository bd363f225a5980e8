"""Join: matching tuples of two windows, and those that never matched.

Source: Gedik 2014, section 6.1.2; order of probing and evicting: `spl.md` 10.2 and D10, D11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from windowing.engine.rows.operators.clause import open_sliding
from windowing.engine.rows.operators.operator import Operator, Sent, Tuple
from windowing.engine.rows.policies import (
    Clock,
    Count,
    Event,
    ManualClock,
    Marker,
    Profile,
    Storage,
    WindowEvent,
)
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.window import advance_together
from windowing.model.operators.models import OperatorError, check_join_window
from windowing.model.windows.policy import WindowClause

_SIDES = ("left", "right")


class JoinKind(StrEnum):
    """The sides whose unmatched tuples are sent, too."""

    inner = "inner"
    left_outer = "leftOuter"
    right_outer = "rightOuter"
    outer = "outer"

    @property
    def outer_sides(self) -> tuple[bool, bool]:
        """Whether the left side is outer, and the right."""
        return (
            self in (JoinKind.left_outer, JoinKind.outer),
            self in (JoinKind.right_outer, JoinKind.outer),
        )


class _Stored:
    """A tuple in a window of a join.

    Attributes:
        row: the tuple.
        matched: whether it found a partner.
    """

    __slots__ = ("matched", "row")

    def __init__(self, row: Tuple, *, matched: bool = False) -> None:
        self.row, self.matched = row, matched

    def __getitem__(self, name: str) -> Any:
        return self.row[name]


class _Side:
    """One input of a join: its window, and an index of its tuples by partition and key."""

    def __init__(
        self,
        clause: WindowClause,
        equal: Sequence[str],
        profile: Profile,
        clock: Clock | None,
        storage: Storage | None,
    ) -> None:
        self.window = open_sliding(clause, profile, clock, storage)
        self.stores = clause.eviction != Count(0)
        self.partition_by, self.equal = clause.partition_by, tuple(equal)
        self._index: dict[Key, dict[Key, dict[int, _Stored]]] = {}
        self.window.on(Event.after_insert, self._add)
        self.window.on(Event.partition_eviction, self._drop)

    def equal_key(self, row: Tuple) -> Key:
        """Return the values that a partner must equal."""
        return tuple(row[name] for name in self.equal)

    def partition_key(self, row: Tuple) -> Key:
        """Return the tuple's partition."""
        return tuple(row[name] for name in self.partition_by) if self.partition_by else None

    def candidates(self, equal: Key, partitions: Sequence[Key] | None) -> Iterator[_Stored]:
        """Return stored tuples with these values, oldest first within a partition; None: any."""
        for partition in self.window.keys if partitions is None else partitions:
            yield from list(self._index.get(partition, {}).get(equal, {}).values())

    def remove(self, event: WindowEvent) -> None:
        """Remove an evicted tuple from the index."""
        by_equal = self._index[event.key]
        found = by_equal[self.equal_key(event.row)]
        del found[id(event.row)]
        if not found:
            del by_equal[self.equal_key(event.row)]
        if not by_equal:
            del self._index[event.key]

    def reindex(self) -> None:
        """Rebuild the index from the window."""
        self._index.clear()
        for key, rows in self.window:
            for row in rows:
                self._add(WindowEvent(Event.after_insert, key, row))

    def _add(self, event: WindowEvent) -> None:
        by_equal = self._index.setdefault(event.key, {})
        by_equal.setdefault(self.equal_key(event.row), {})[id(event.row)] = event.row

    def _drop(self, event: WindowEvent) -> None:
        for key in event.victims:
            self._index.pop(key, None)


class Join(Operator):
    """The operator that joins two streams over sliding windows.

    Matches are sent on port 0, with one punctuation after all matches of a tuple. An outer side's
    tuple that leaves its window unmatched is paired with a default tuple on port 0 or, with extra
    ports, sent alone: left or right on port 1; in a full outer join, left on 1, right on 2.

    Args:
        left, right: the windows of the two ports.
        combine: builds the output tuple from a left and a right one.
        send: receives the output.
        kind: which sides are outer.
        equal: pairs of a left and a right attribute that must be equal.
        where: a further condition on a left and a right tuple, or None.
        extra_ports: send unmatched tuples on separate ports.
        defaults: by `left` and `right`, the values of a missing partner; by default null.
        profile: the rules to follow.
        clock: the operator's clock.
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        left: WindowClause,
        right: WindowClause,
        combine: Callable[[Tuple, Tuple], Tuple],
        send: Callable[[Sent], None],
        *,
        kind: JoinKind = JoinKind.inner,
        equal: tuple[Sequence[str], Sequence[str]] = ((), ()),
        where: Callable[[Tuple, Tuple], bool] | None = None,
        extra_ports: int = 0,
        defaults: Mapping[str, Tuple] | None = None,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        super().__init__(send)
        for clause, name in ((left, "left"), (right, "right")):
            check_join_window(clause, name)
        check_join((left, right), kind, equal, profile, extra_ports=extra_ports, defaults=defaults)
        clock = clock or ManualClock()  # the same for both windows
        self._sides = tuple(
            _Side(clause, names, profile, clock, storage)
            for clause, names in ((left, equal[0]), (right, equal[1]))
        )
        self._combine, self._where = combine, where
        self._outer = kind.outer_sides
        self._ports = _extra_ports(kind, extra_ports)
        self._defaults = [dict((defaults or {}).get(side, {})) for side in _SIDES]
        self._profile = profile
        self._own_key_only = (
            profile is Profile.paper and bool(left.partition_by) and bool(right.partition_by)
        )
        self._arriving: _Stored | None = None
        self._sent = False
        for port, side in enumerate(self._sides):
            side.window.on(Event.after_evict, self._on_evict(port))
            if profile is Profile.paper:
                side.window.on(Event.trigger, self._on_trigger(port))

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple of the left (0) or the right (1) side."""
        side, arriving = self._sides[port], _Stored(row)
        self._arriving, self._sent = arriving, False
        if self._profile is Profile.paper:
            side.window.insert(arriving)
        else:
            self._probe(port, arriving)
            side.window.insert(arriving)
        if not side.stores and not arriving.matched:
            self._send_unmatched(port, arriving)
        self._arriving = None
        if self._sent:
            self._emit_punctuation()
        return True

    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Ignore punctuations of the input."""

    def tick(self, now_us: int) -> None:
        """Evict expired tuples; their output has no punctuation."""
        advance_together([side.window for side in self._sides], now_us)

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""
        due = (side.window.next_due_us() for side in self._sides)
        return min((us for us in due if us is not None), default=None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Take the locks of both windows, the left one first."""
        with self._sides[0].window.locked(), self._sides[1].window.locked():
            yield

    # --- probing ------------------------------------------------------------------------------

    def _on_trigger(self, port: int) -> Callable[[WindowEvent], None]:
        def trigger(event: WindowEvent) -> None:
            assert self._arriving is not None  # noqa: S101 - the trigger is count(1)
            self._probe(port, self._arriving)

        return trigger

    def _probe(self, port: int, arriving: _Stored) -> None:
        own, other = self._sides[port], self._sides[1 - port]
        partitions = [own.partition_key(arriving.row)] if self._own_key_only else None
        for found in other.candidates(own.equal_key(arriving.row), partitions):
            pair = (arriving.row, found.row) if port == 0 else (found.row, arriving.row)
            if self._where is None or self._where(*pair):
                arriving.matched = found.matched = True
                self._emit(self._combine(*pair))
                self._sent = True

    def _on_evict(self, port: int) -> Callable[[WindowEvent], None]:
        def evict(event: WindowEvent) -> None:
            self._sides[port].remove(event)
            if not event.row.matched:
                self._send_unmatched(port, event.row)

        return evict

    def _send_unmatched(self, port: int, stored: _Stored) -> None:
        if not self._outer[port]:
            return
        extra = self._ports[port]
        if extra is not None:
            self._emit(stored.row, extra)
            return
        missing = self._defaults[1 - port]
        pair = (stored.row, missing) if port == 0 else (missing, stored.row)
        self._emit(self._combine(*pair))
        self._sent = True

    # --- state --------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the state of both windows, with each tuple's `matched`."""
        return {
            name: _plain(s.window.snapshot()) for name, s in zip(_SIDES, self._sides, strict=True)
        }

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        for name, side in zip(_SIDES, self._sides, strict=True):
            side.window.restore(_stored(snapshot[name]), timers=timers)
            side.reindex()


def check_join(
    windows: tuple[WindowClause, WindowClause],
    kind: JoinKind,
    equal: tuple[Sequence[str], Sequence[str]],
    profile: Profile,
    *,
    extra_ports: int = 0,
    defaults: Mapping[str, Tuple] | None = None,
) -> None:
    """Check the rules that concern both sides of a join.

    Raises:
        OperatorError: it is not in the model.
    """
    if len(equal[0]) != len(equal[1]):
        msg = f"equal names {len(equal[0])} attributes left and {len(equal[1])} right: pair them"
        raise OperatorError("JOIN_EQUALITY", msg)
    outer = sum(kind.outer_sides)
    if extra_ports not in (0, outer):
        msg = f"a join of kind {kind} has {outer} extra ports or none, not {extra_ports}"
        raise OperatorError("JOIN_OUTPUTS", msg)
    for side in defaults or {}:
        # An outer right side needs a default for a missing left tuple.
        if side not in _SIDES or not kind.outer_sides[1 - _SIDES.index(side)] or extra_ports:
            msg = f"a default for {side!r} is never used by a join of kind {kind}: leave it out"
            raise OperatorError("JOIN_DEFAULTS", msg)
    left, right = (window.partition_by for window in windows)
    if profile is Profile.paper and left and right and len(left) != len(right):
        msg = "both sides are partitioned: give as many attributes left as right"
        raise OperatorError("JOIN_PARTITIONS", msg)


def _extra_ports(kind: JoinKind, extra_ports: int) -> tuple[int | None, int | None]:
    """Return the port of each side's unmatched tuples; None: they are paired with a default."""
    if not extra_ports:
        return None, None
    return (1, 2) if kind is JoinKind.outer else (1, 1)


def _plain(snapshot: dict[str, Any]) -> dict[str, Any]:
    parts = [
        [key, rank, updated, [[[[e.row, e.matched], at] for e, at in entries], *more]]
        for key, rank, updated, (entries, *more) in snapshot["partitions"]
    ]
    return {**snapshot, "partitions": parts}


def _stored(snapshot: dict[str, Any]) -> dict[str, Any]:
    parts = [
        [key, rank, updated, [[[_Stored(row, matched=m), at] for (row, m), at in entries], *more]]
        for key, rank, updated, (entries, *more) in snapshot["partitions"]
    ]
    return {**snapshot, "partitions": parts}
