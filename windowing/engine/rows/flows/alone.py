"""Outer joins: when a record that may have no partner is due to be sent alone.

Names in the store whose order is that of the instants; what never is due before the end of all
lanes stands last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.state import StateStore
from windowing.model.join import Side
from windowing.model.record import Place, Progress

_PREFIX = "alone/"
# Behind every hexadecimal digit.
_AT_THE_END = "z"


class _Entry(NamedTuple):
    """A record that may have to be sent alone; its instant is None at the end of all lanes."""

    side: Side
    instant: int | None
    message: str


class AloneIndex:
    """The records of the sides that are kept, by the instant at which they would be sent alone.

    Args:
        store: where they lie.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def add(self, side: Side, instant: int | None, place: Place, message: str) -> None:
        """Remember a record.

        Args:
            side: whose it is.
            instant: when it is due; None: when all lanes have ended.
            place: its position.
            message: its name in the message store.
        """
        at, source, partition, offset = place
        order = _AT_THE_END if instant is None else keys.i64(instant).hex()
        order += (keys.i64(at) + keys.place(f"{source}/{partition}", offset)).hex()
        entry = _Entry(side, instant, message)
        self._store.put(f"{_PREFIX}{order}/{side}", msgspec.msgpack.encode(entry))

    def pop(self, progress: Progress) -> Iterator[tuple[Side, Progress, str]]:
        """Forget and give the side, instant and message of each record that is due."""
        for name, data in list(self._store.scan(_PREFIX)):
            side, instant, message = msgspec.msgpack.decode(data, type=_Entry)
            due = math.inf if instant is None else instant
            if due > progress:
                return
            self._store.delete(name)
            yield side, due, message

    def messages(self) -> set[str]:
        """The names of all records that still may have to be sent alone."""
        return {
            msgspec.msgpack.decode(data, type=_Entry).message
            for _, data in self._store.scan(_PREFIX)
        }
