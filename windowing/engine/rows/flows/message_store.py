"""The message store: every accepted record once, under a key that sorts in reading order.

It serves joins and holistic aggregates. `T` is the stored value: for aggregators the record itself,
for joins the record and its state in the join.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore

T = TypeVar("T")


class MessageStore(Generic[T]):
    """Records by message key.

    Args:
        store: where the bytes are kept.
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
