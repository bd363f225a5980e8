"""Outer joins: when a record without a partner is due to be sent alone.

Names in the store are in the order of instants; records due only at the end of all lanes come last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore
from windowing.model.join import Side
from windowing.model.record import Place, Progress

_PREFIX = "alone/"
# Sorts after every hexadecimal digit.
_AT_THE_END = "z"


class _Entry(NamedTuple):
    """A record that may have to be sent alone; instant None: at the end of all lanes."""

    side: Side
    instant: int | None
    message: str


class AloneIndex:
    """The records of kept sides, by the instant at which they would be sent alone.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def add(self, side: Side, instant: int | None, place: Place, message: str) -> None:
        """Add a record.

        Args:
            side: its side.
            instant: when it is due; None: once all lanes have ended.
            place: its position.
            message: its name in the message store.
        """
        at, source, partition, offset = place
        order = _AT_THE_END if instant is None else keys.i64(instant).hex()
        order += (keys.i64(at) + keys.place(f"{source}/{partition}", offset)).hex()
        entry = _Entry(side, instant, message)
        self._store.put(f"{_PREFIX}{order}/{side}", msgspec.msgpack.encode(entry))

    def pop(self, progress: Progress) -> Iterator[tuple[Side, Progress, str]]:
        """Remove each due record, and yield its side, instant and message."""
        for name, data in list(self._store.scan(_PREFIX)):
            side, instant, message = msgspec.msgpack.decode(data, type=_Entry)
            due = math.inf if instant is None else instant
            if due > progress:
                return
            self._store.delete(name)
            yield side, due, message

    def messages(self) -> set[str]:
        """Return the names of all records that may still have to be sent alone."""
        return {
            msgspec.msgpack.decode(data, type=_Entry).message
            for _, data in self._store.scan(_PREFIX)
        }
