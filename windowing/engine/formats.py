"""Format numbers: stored data carries its format, and older data is migrated.

Structs are stored as msgpack arrays, whose fields are positional: an inserted field would be
misread. So each head of a lane's, a shard's or an operator's state, and each parcel, begins with a
number. The number in a head applies to everything in its store, including columns of tables.

When a struct or a table changes, its format needs the next number, and a migration from the
previous one; the test against `tests/checkpoints/layouts.json` fails otherwise. Migrations stay:
tests open recorded states of every number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from windowing.engine.state import StateStore
from windowing.model.run_errors import CheckpointMismatch, OtherVersion

# No msgpack begins with this byte, which distinguishes it from data without a number.
_MARK = 0xC1
_UNNUMBERED = 1

_encoder = msgspec.msgpack.Encoder()

T = TypeVar("T")
Migration = Callable[[Any, StateStore], Any]
"""A function from the parts of a head (for a struct, a list of its fields) to those of the next
number; it may rewrite the rest of the store."""


def stamped(number: int, data: bytes) -> bytes:
    """Prefix data with its format number, 1 to 255."""
    return bytes((_MARK, number)) + data


def number_of(data: bytes) -> tuple[int, memoryview]:
    """Return a format number, 1 if absent, and the data after it."""
    whole = memoryview(data)
    return (data[1], whole[2:]) if data[:1] == bytes((_MARK,)) else (_UNNUMBERED, whole)


@dataclass(frozen=True)
class Format(Generic[T]):
    """How the state of a lane, a shard or an operator is stored.

    Attributes:
        what: the name, for messages.
        number: of the current format.
        head: the type of its head.
        migrations: by older number, the migration to the next one.
    """

    what: str
    number: int
    head: type[T]
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[T]:
        return msgspec.msgpack.Decoder(self.head)

    def encode(self, head: T) -> bytes:
        """Return a head as stored bytes."""
        return stamped(self.number, msgspec.msgpack.encode(head))

    def decode(self, data: bytes, store: StateStore) -> T:
        """Read a head, migrating it and the rest of the store if it is older.

        Args:
            data: the result of `encode` in this or an older version.
            store: everything stored with it.

        Raises:
            CheckpointMismatch: this version does not know the format.
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


@dataclass(frozen=True)
class MessageFormat(Generic[T]):
    """How one stage packs a message for the next.

    Messages live within a batch, so only the current format is read.

    Attributes:
        what: what was sent, and by whom, for errors.
        number: of the current format.
        message: the type of the message.
    """

    what: str
    number: int
    message: type[T]

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[T]:
        return msgspec.msgpack.Decoder(self.message)

    def encode(self, message: T) -> bytes:
        """Return a message as bytes."""
        return stamped(self.number, _encoder.encode(message))

    def decode(self, data: bytes) -> T:
        """Read the result of `encode`.

        Raises:
            OtherVersion: a worker of another version wrote it.
        """
        number, body = number_of(data)
        if number != self.number:
            msg = (
                f"{self.what} in format {number}, and this worker reads format {self.number}: "
                "install the same version of Slackwater wherever the job runs"
            )
            raise OtherVersion(msg)
        return self._decoder.decode(body)


def as_it_is(parts: Any, store: StateStore) -> Any:
    """Migrate between formats that differ only in their number."""
    del store
    return parts
