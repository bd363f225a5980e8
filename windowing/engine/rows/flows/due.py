"""When rows are due: names in the store whose byte order is the order in which rows are sent.

The order is (instant, full before late, start, end, key), so that the sequence of rows is a
function of the log, not of the calls that emitted it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore
from windowing.model.record import Progress

_PREFIX = "due/"


class Due(NamedTuple):
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
    """The rows that wait for progress.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._decoder = msgspec.msgpack.Decoder(Due)

    def add(self, due: Due) -> None:
        """Add a row; idempotent."""
        self._store.put(_name(due), msgspec.msgpack.encode(due))

    def remove(self, due: Due) -> None:
        """Remove a row."""
        self._store.delete(_name(due))

    def first(self) -> int | None:
        """Return the earliest instant at which a row is due."""
        return next((due.instant for _, due in self._scan()), None)

    def pop(self, progress: Progress) -> Iterator[Due]:
        """Remove and yield the due rows, in the order of sending."""
        for name, due in self._scan():
            if due.instant > progress:
                return
            self._store.delete(name)
            yield due

    def _scan(self) -> Iterator[tuple[str, Due]]:
        return ((name, self._decoder.decode(data)) for name, data in self._store.scan(_PREFIX))


def _name(due: Due) -> str:
    order = keys.i64(due.instant) + bytes([due.late]) + keys.i64(due.start) + keys.i64(due.end)
    return _PREFIX + (order + keys.key(due.key)).hex()
