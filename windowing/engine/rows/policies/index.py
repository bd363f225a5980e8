"""An index of a window's tuples by the values of fields."""

from __future__ import annotations

from collections.abc import Sequence

from windowing.engine.rows.policies.events import Event, Key, Row, WindowEvent
from windowing.engine.rows.policies.window import PolicyWindow, hashable


class Index:
    """The tuples of a window by partition and by the values of fields.

    It takes the window's slots for the events after an insert, after an eviction and before
    partitions are evicted. Such a window evicts tuple by tuple, or by partition.

    Args:
        window: whose tuples to find; the index begins with those that it has.
    """

    def __init__(self, window: PolicyWindow, by: Sequence[str]) -> None:
        self._window, self._by = window, tuple(by)
        self._rows: dict[tuple[Key, Key], list[Row]] = {}
        window.on(Event.after_insert, self._add)
        window.on(Event.after_evict, self._remove)
        window.on(Event.partition_eviction, self._drop)
        self.rebuild()

    def find(self, key: Key, values: Key) -> Sequence[Row]:
        """Return the tuples of a partition with certain values, oldest first.

        What is returned is valid until the window changes.
        """
        return self._rows.get((key, values), ())

    def rebuild(self) -> None:
        """Follow a window that was restored."""
        self._rows.clear()
        for key, rows in self._window:
            for row in rows:
                self._add(WindowEvent(Event.after_insert, key, row))

    def _add(self, event: WindowEvent) -> None:
        place = event.key, values_of(event.row, self._by)
        self._rows.setdefault(place, []).append(event.row)

    def _remove(self, event: WindowEvent) -> None:
        place = event.key, values_of(event.row, self._by)
        rows = self._rows[place]
        # Usually the first, so that the search is short; of equal tuples, either may go.
        rows.remove(event.row)
        if not rows:
            del self._rows[place]

    def _drop(self, event: WindowEvent) -> None:
        for key in event.victims:
            for row in self._window.rows(key) or ():
                self._rows.pop((key, values_of(row, self._by)), None)


def values_of(row: Row, fields: Sequence[str]) -> Key:
    """Return a tuple's values of fields, as the key of an index."""
    return tuple([hashable(row[name]) for name in fields])
