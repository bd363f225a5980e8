"""Join: matching tuples of two windows, and those that never matched.

Source: Gedik 2014, section 6.1.2; order of probing and evicting: `spl.md` 10.2 and D10, D11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from windowing.engine.rows.operators.operator import Operator, PortOutput, Tuple, open_window
from windowing.engine.rows.policies import (
    Clock,
    Count,
    Event,
    ManualClock,
    Profile,
    Storage,
    WindowEvent,
)
from windowing.engine.rows.policies.index import Index, values_of
from windowing.engine.rows.policies.window import with_rows
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
        full = self is JoinKind.outer
        return full or self is JoinKind.left_outer, full or self is JoinKind.right_outer


class _JoinTuple:
    """A tuple in a window of a join.

    Attributes:
        matched: whether it found a partner.
    """

    __slots__ = ("matched", "row")

    def __init__(self, row: Tuple, matched: bool = False) -> None:
        self.row, self.matched = row, matched

    def __getitem__(self, name: str) -> Any:
        return self.row[name]


class Join(Operator):
    """The operator that joins two streams over sliding windows.

    Matches are sent on port 0, with one punctuation after all matches of a tuple. An outer side's
    tuple that leaves its window unmatched is paired with a default tuple on port 0 or, with extra
    ports, sent alone: left or right on port 1; in a full outer join, left on 1, right on 2.

    Args:
        left, right: the windows of the two ports.
        combine: builds the output tuple from a left and a right one.
        kind: which sides are outer.
        equal: pairs of a left and a right attribute that must be equal.
        where: a further condition on a left and a right tuple, or None.
        extra_ports: send unmatched tuples on separate ports.
        defaults: by `left` and `right`, the values of a missing partner; by default null.
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        left: WindowClause,
        right: WindowClause,
        combine: Callable[[Tuple, Tuple], Tuple],
        send: Callable[[PortOutput], None],
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
        check_join((left, right), kind, equal, profile, extra_ports=extra_ports, defaults=defaults)
        clock = clock or ManualClock()  # the same for both windows
        clauses, self._equal = (left, right), equal
        self._windows = [open_window(clause, profile, clock, storage) for clause in clauses]
        self._indexes = [
            Index(window, names) for window, names in zip(self._windows, equal, strict=True)
        ]
        self._stores = [clause.eviction != Count(0) for clause in clauses]
        self._combine, self._where = combine, where
        self._outer = kind.outer_sides
        self._extra = (1, 2 if kind is JoinKind.outer else 1) if extra_ports else None
        self._defaults = [(defaults or {}).get(side, {}) for side in _SIDES]
        self._probes_first = profile is Profile.osstreams
        both_partitioned = bool(left.partition_by and right.partition_by)
        self._own_key_only = both_partitioned and not self._probes_first
        self._arriving: _JoinTuple
        self._sent = False
        for port, window in enumerate(self._windows):
            window.on(Event.before_evict, partial(self._on_evict, port))
            if not self._probes_first:
                window.on(Event.trigger, partial(self._probe, port))

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple of the left (0) or the right (1) side."""
        self._arriving, self._sent = _JoinTuple(row), False
        if self._probes_first:
            self._probe(port)
        self._windows[port].insert(self._arriving)
        if not self._stores[port]:
            self._send_unmatched(port, self._arriving)
        if self._sent:
            self._emit_punctuation()
        return True

    def _probe(self, port: int, event: WindowEvent | None = None) -> None:
        """Send the arriving tuple's matches: at the window's trigger or, in osstreams, before."""
        arriving, others = self._arriving, self._windows[1 - port].keys
        if event is not None and self._own_key_only:
            others = [event.key]
        values = values_of(arriving, self._equal[port])
        for key in others:
            for found in self._indexes[1 - port].find(key, values):
                pair = _in_order(port, arriving.row, found.row)
                if self._where is None or self._where(*pair):
                    arriving.matched = found.matched = True
                    self._send_pair(pair)

    def _on_evict(self, port: int, event: WindowEvent) -> None:
        self._send_unmatched(port, event.row)

    def _send_unmatched(self, port: int, stored: _JoinTuple) -> None:
        if stored.matched or not self._outer[port]:
            return
        if self._extra is not None:
            self._emit(stored.row, self._extra[port])
        else:
            self._send_pair(_in_order(port, stored.row, self._defaults[1 - port]))

    def _send_pair(self, pair: tuple[Tuple, Tuple]) -> None:
        self._emit(self._combine(*pair))
        self._sent = True

    # --- state --------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the state of both windows, with each tuple's `matched`."""
        return {
            side: with_rows(window.snapshot(), lambda stored: [stored.row, stored.matched])
            for side, window in zip(_SIDES, self._windows, strict=True)
        }

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        for side, window, index in zip(_SIDES, self._windows, self._indexes, strict=True):
            window.restore(with_rows(snapshot[side], lambda pair: _JoinTuple(*pair)), timers=timers)
            index.rebuild()


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
    for window, side in zip(windows, _SIDES, strict=True):
        check_join_window(window, side)
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


def _in_order(port: int, own: Tuple, other: Tuple) -> tuple[Tuple, Tuple]:
    return (own, other) if port == 0 else (other, own)
