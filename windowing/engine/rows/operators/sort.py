"""Sort: the tuples of a tumbling window, or a stream, reordered within a sliding window.

Source: Gedik 2014, section 6.1.3; details: `spl.md` 10.3.
"""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import total_ordering
from typing import Any

from windowing.engine.rows.operators.operator import (
    PortOutput,
    Tuple,
    WindowOperator,
    open_window,
)
from windowing.engine.rows.policies import (
    Clock,
    Event,
    Marker,
    Profile,
    Storage,
    TumblingWindow,
    WindowEvent,
)
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.window import hashable
from windowing.model.operators.models import check_sort
from windowing.model.windows.policy import WindowClause


class SortOrder(StrEnum):
    """The direction of sorting."""

    ascending = "ascending"
    descending = "descending"


@total_ordering
class _Descending:
    """A value with reversed comparison."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def null_first(value: Any) -> tuple[bool, Any]:
    """Return a sort key in which null precedes all values; SPL's attributes are never null."""
    return value is not None, value


class Sort(WindowOperator):
    """The operator that sorts the tuples of a window.

    A tumbling window is sent as a whole (batch). With a sliding window, whose trigger is count(1),
    each tuple that leaves the window sends the smallest stored one (progressive).

    Args:
        window: the tuples to sort together.
        sort_by: attributes, the most significant first.
        order: one direction for all attributes, or one each.
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        window: WindowClause,
        sort_by: Sequence[str],
        send: Callable[[PortOutput], None],
        *,
        order: Sequence[str] = (SortOrder.ascending,),
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        check_sort(window, sort_by, order, profile)
        super().__init__(open_window(window, profile, clock, storage), send)
        orders = [SortOrder(one) for one in order] * (len(sort_by) if len(order) == 1 else 1)
        self._sort_by = list(zip(sort_by, orders, strict=True))
        self._buffers: dict[Key, list[Tuple]] = {}
        if window.kind == "tumbling":
            self._window.on(Event.before_flush, self._send_batch)
            self._window.on(Event.empty_window_punct, lambda _: self._emit_punctuation())
        else:
            self._window.on(Event.after_insert, self._keep)
            self._window.on(Event.before_evict, self._send_smallest)
            self._window.on(Event.partition_eviction, self._drop_victims)

    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Process a punctuation: a window marker ends a batch, a final one empties the buffers."""
        if isinstance(self._window, TumblingWindow):
            if marker is Marker.window:
                self._window.take_marker(marker)
        elif marker is Marker.final:
            for buffer in self._buffers.values():
                for row in buffer:
                    self._emit(row)
            self._buffers.clear()

    def _rank(self, row: Tuple) -> tuple[Any, ...]:
        ranks = ((null_first(row[name]), order) for name, order in self._sort_by)
        return tuple(
            rank if order is SortOrder.ascending else _Descending(rank) for rank, order in ranks
        )

    def _send_batch(self, event: WindowEvent) -> None:
        for row in sorted(self._window.rows(event.key) or [], key=self._rank):
            self._emit(row)
        self._emit_punctuation()

    def _keep(self, event: WindowEvent) -> None:
        insort_right(self._buffers.setdefault(event.key, []), event.row, key=self._rank)

    def _send_smallest(self, event: WindowEvent) -> None:
        buffer = self._buffers.get(event.key)
        if buffer:
            self._emit(buffer.pop(0))

    def _drop_victims(self, event: WindowEvent) -> None:
        for key in event.victims:
            self._buffers.pop(key, None)

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the window and the buffers."""
        buffers = [[key, list(rows)] for key, rows in self._buffers.items()]
        return {**super().snapshot(), "buffers": buffers}

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        super().restore(snapshot, timers=timers)
        self._buffers = {hashable(key): list(rows) for key, rows in snapshot["buffers"]}
