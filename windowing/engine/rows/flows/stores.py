"""What is stored: windows or sessions with their state, and records under message keys.

Windows are in the order of their starts, which is the order of expiry; sessions by session key.
Every accepted record is stored once, for joins and holistic aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.partial import Partial
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods
from windowing.model.record import Progress, WindowRow

_WINDOWS = "window/"

UNTIL_TICK = -(2**63)
"""The release of records that wait for a wall-clock period."""


class StoredWindow(msgspec.Struct, array_like=True):
    """A window of one key, or a session.

    Attributes:
        start, end: its bounds on its axis; a session's end is the last record plus the gap.
        content: the partial state of all its records.
        fresh: that of the records not shown yet.
        news: how many of these were on time.
        waiting: late records by release.
        revision: of the last full or late row; -1 before the first.
        early: of the last early row; 0 before the first.
        shown: the last row, if it must be repeated.
        shown_end: the end that the last row showed.
    """

    start: int
    end: int
    key: str | None
    content: Partial = msgspec.field(default_factory=Partial)
    fresh: Partial = msgspec.field(default_factory=Partial)
    news: int = 0
    waiting: dict[int, Partial] = {}
    revision: int = -1
    early: int = 0
    shown: WindowRow | None = None
    shown_end: int = 0

    @property
    def pending(self) -> int:
        """The number of late records waiting for it."""
        return sum(partial.records for partial in self.waiting.values())

    @property
    def order(self) -> tuple[int, int, bytes]:
        """The sort key of rows at one instant."""
        return self.start, self.end, keys.key(self.key)


class WindowStore:
    """Windows by start and key, or sessions by key and start.

    Args:
        name: encodes a window's start and group key.
    """

    def __init__(self, store: StateStore, name: Callable[[int, str | None], bytes]) -> None:
        self._store, self._name = store, name
        self._decoder = msgspec.msgpack.Decoder(StoredWindow)

    def get(self, start: int, key: str | None) -> StoredWindow | None:
        """Return a window, or None."""
        data = self._store.get(self._path(start, key))
        return None if data is None else self._decoder.decode(data)

    def put(self, held: StoredWindow) -> None:
        """Store a window."""
        self._store.put(self._path(held.start, held.key), msgspec.msgpack.encode(held))

    def delete(self, held: StoredWindow) -> None:
        """Delete a window."""
        self._store.delete(self._path(held.start, held.key))

    def scan(self, prefix: bytes = b"") -> Iterator[StoredWindow]:
        """Yield windows in the order of their names."""
        found = self._store.scan(_WINDOWS + prefix.hex())
        return (self._decoder.decode(data) for _, data in found)

    def _path(self, start: int, key: str | None) -> str:
        return _WINDOWS + self._name(start, key).hex()


T = TypeVar("T")


class MessageStore(Generic[T]):
    """Records by message key.

    Args:
        layout: the order of the key's components.
        prefix: of the names in the store; unique per message store.
        kind: the type of stored values.
    """

    def __init__(self, store: StateStore, layout: keys.Layout, prefix: str, kind: type[T]) -> None:
        self._store, self.layout, self._prefix = store, layout, prefix
        self._decoder = msgspec.msgpack.Decoder(kind)

    def name(self, *, ts: int, group: str | None, lane: str, offset: int) -> str:
        """Return the name of a record in the store."""
        key = keys.message_key(self.layout, ts=ts, group=group, lane=lane, offset=offset)
        return self._prefix + key.hex()

    def put(self, name: str, message: T) -> None:
        """Store a record."""
        self._store.put(name, msgspec.msgpack.encode(message))

    def get(self, name: str) -> T:
        """Return a stored record."""
        data = self._store.get(name)
        if data is None:
            msg = f"no message {name}: it was purged before a window that holds it"
            raise KeyError(msg)
        return self._decoder.decode(data)

    def delete(self, name: str) -> None:
        """Delete a record."""
        self._store.delete(name)

    def all(self) -> Iterator[tuple[str, T]]:
        """Yield every record with its name, in the order of the keys."""
        return self._scan("")

    def candidates(self, low: int, high: int, group: str | None) -> Iterator[tuple[str, T]]:
        """Yield a superset of the records with this key and a time in [low, high].

        The scan is as narrow as the layout allows.
        """
        if keys.by_key_first(self.layout):
            return self._scan(keys.key(group).hex())
        if keys.by_time_first(self.layout):
            low, high = max(low, -(2**63)), min(high, 2**63 - 1)
            return self._scan(keys.shared_prefix(keys.i64(low), keys.i64(high)).hex())
        return self._scan("")

    def _scan(self, prefix: str) -> Iterator[tuple[str, T]]:
        found = self._store.scan(self._prefix + prefix)
        return ((name, self._decoder.decode(data)) for name, data in found)


_DUE = "due/"


class DueWindow(NamedTuple):
    """A row due at an instant.

    Attributes:
        instant: the progress at which the row is sent.
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
        return ((name, self._decoder.decode(data)) for name, data in self._store.scan(_DUE))


def _name(due: DueWindow) -> str:
    order = keys.i64(due.instant) + bytes([due.late]) + keys.i64(due.start) + keys.i64(due.end)
    return _DUE + (order + keys.key(due.key)).hex()


_TICKS = "ticks"


class Ticks:
    """The last seen period of every policy; the caller passes the clock, and none is read."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def due(self, policy: str, wall: int, periods: Periods) -> bool:
        """Return whether a policy is due now; the first call only records the period."""
        if periods.every_us == 0:
            return True
        data = self._store.get(_TICKS)
        cells = {} if data is None else msgspec.msgpack.decode(data, type=dict[str, int])
        cell = (wall - periods.origin_us) // periods.every_us
        known = cells.get(policy)
        if known is not None and cell <= known:
            return False
        cells[policy] = cell
        self._store.put(_TICKS, msgspec.msgpack.encode(cells))
        return known is not None
