"""When rows are due: by progress, in the order in which they are sent, and by the caller's clock.

Names in the store have the byte order of (instant, full before late, start, end, key), so that the
sequence of rows is a function of the log, not of the calls that emitted it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods
from windowing.model.record import Progress

_PREFIX = "due/"


class DueWindow(NamedTuple):
    """A row due at an instant.

    Attributes:
        instant: the progress at which the row is sent.
        late: whether it is a late revision.
        start, end, key: the window.
    """

    instant: int
    late: bool
    start: int
    end: int
    key: str | None


class DueIndex:
    """The rows that wait for progress."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._decoder = msgspec.msgpack.Decoder(DueWindow)

    def add(self, due: DueWindow) -> None:
        """Add a row; idempotent."""
        self._store.put(_name(due), msgspec.msgpack.encode(due))

    def remove(self, due: DueWindow) -> None:
        """Remove a row."""
        self._store.delete(_name(due))

    def first(self) -> int | None:
        """Return the earliest instant at which a row is due."""
        return next((due.instant for _, due in self._scan()), None)

    def pop(self, progress: Progress) -> Iterator[DueWindow]:
        """Remove and yield the due rows, in the order of sending."""
        for name, due in self._scan():
            if due.instant > progress:
                return
            self._store.delete(name)
            yield due

    def _scan(self) -> Iterator[tuple[str, DueWindow]]:
        return ((name, self._decoder.decode(data)) for name, data in self._store.scan(_PREFIX))


def _name(due: DueWindow) -> str:
    order = keys.i64(due.instant) + bytes([due.late]) + keys.i64(due.start) + keys.i64(due.end)
    return _PREFIX + (order + keys.key(due.key)).hex()


_NAME = "ticks"


class Ticks:
    """The last seen period of every policy; the caller passes the clock, and none is read."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def due(self, policy: str, wall: int, periods: Periods) -> bool:
        """Return whether a policy is due now; the first call only records the period."""
        if periods.every_us == 0:
            return True
        data = self._store.get(_NAME)
        cells = {} if data is None else msgspec.msgpack.decode(data, type=dict[str, int])
        cell = (wall - periods.origin_us) // periods.every_us
        known = cells.get(policy)
        if known is not None and cell <= known:
            return False
        cells[policy] = cell
        self._store.put(_NAME, msgspec.msgpack.encode(cells))
        return known is not None
