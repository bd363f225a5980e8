"""Numbers of formats: what is stored says how it is written, and what is older is brought up.

Structs are stored as msgpack arrays, in which a place says what stands there: a field that is put
between others would be read as another. So each head of a lane's, a shard's or an operator's state,
and each parcel, begins with a number. The number in a head holds for all that stands in the store
beside it, the columns of tables included.

When a struct or a table changes, its format gets the next number, and a migration from the one
before; `tests/checkpoints/layouts.json` fails until it has. Migrations stay: states of every number
are recorded and opened by the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from windowing.engine.state import StateStore
from windowing.model.run_errors import CheckpointMismatch

# No msgpack begins with this byte, so what was stored before there were numbers is told apart.
_MARK = 0xC1
_UNNUMBERED = 1

T = TypeVar("T")
Migration = Callable[[Any, StateStore], Any]
"""From the parts of a head (of a struct a list of its fields) to those of the next number; it may
rewrite what stands beside."""


def stamped(number: int, data: bytes) -> bytes:
    """Data with the number of its format, 1 to 255, before it."""
    return bytes((_MARK, number)) + data


def number_of(data: bytes) -> tuple[int, memoryview]:
    """The number of a format, and the data behind it; 1 where there is none."""
    whole = memoryview(data)
    return (data[1], whole[2:]) if data[:1] == bytes((_MARK,)) else (_UNNUMBERED, whole)


@dataclass(frozen=True)
class Format(Generic[T]):
    """How the state of a lane, a shard or an operator is stored.

    Attributes:
        what: names it, for messages.
        number: of today's format.
        head: the type of what stands at its head.
        migrations: by each older number, the way to the number after it.
    """

    what: str
    number: int
    head: type[T]
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[T]:
        return msgspec.msgpack.Decoder(self.head)

    def encode(self, head: T) -> bytes:
        """A head as it is stored."""
        return stamped(self.number, msgspec.msgpack.encode(head))

    def decode(self, data: bytes, store: StateStore) -> T:
        """Read a head; where it is older, what stands beside it in the store is brought up as well.

        Args:
            data: what `encode` gave, now or long ago.
            store: all that was stored with it.

        Raises:
            CheckpointMismatch: it is of a format that this version does not know.
        """
        number, body = number_of(data)
        if number == self.number:
            return self._decoder.decode(body)
        parts = msgspec.msgpack.decode(body)
        for older in range(number, self.number):
            if older not in self.migrations:
                break
            parts = self.migrations[older](parts, store)
        else:
            if number < self.number:
                return msgspec.convert(parts, self.head)
        raise CheckpointMismatch(self._refusal(number))

    def _refusal(self, number: int) -> str:
        if number > self.number:
            return (
                f"{self.what} was written in format {number}, and this version of Slackwater reads "
                f"up to {self.number}: run the newer version that wrote it, or start a new run"
            )
        return (
            f"{self.what} was written in format {number}, which this version of Slackwater (format "
            f"{self.number}) cannot bring up: run the version that wrote it, or start a new run"
        )


def as_it_is(parts: Any, store: StateStore) -> Any:
    """The way from a format to the next where no more than the number has changed."""
    del store
    return parts
