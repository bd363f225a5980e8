"""Format numbers: stored data carries the number of its format, and another number is refused.

Structs are stored as msgpack arrays, whose fields are positional: an inserted field would be
misread. So each head of a lane's, a shard's or an operator's state, and each message, begins with a
number. The number in a head applies to everything in its store, including columns of tables.

When a struct or a table changes, its format needs the next number; the test against
`tests/unit/checkpoints/layouts.json` fails otherwise. Migrations begin with version 1.0 (ADR 17).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import msgspec

from windowing.model.run_errors import CheckpointMismatch, OtherVersion

# No msgpack begins with this byte, which distinguishes it from data without a number.
_MARK = 0xC1

_encoder = msgspec.msgpack.Encoder()

T = TypeVar("T")


def stamped(number: int, data: bytes) -> bytes:
    """Prefix data with its format number, 1 to 255."""
    return bytes((_MARK, number)) + data


def number_of(data: bytes) -> tuple[int, memoryview]:
    """Return a format number, 0 if absent, and the data after it."""
    whole = memoryview(data)
    return (data[1], whole[2:]) if data[:1] == bytes((_MARK,)) else (0, whole)


@dataclass(frozen=True)
class _Numbered(Generic[T]):
    what: str
    number: int
    type_: type[T]

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[T]:
        return msgspec.msgpack.Decoder(self.type_)

    def encode(self, value: T) -> bytes:
        """Return a value as bytes, behind the number."""
        return stamped(self.number, _encoder.encode(value))


class Format(_Numbered[T]):
    """How the state of a lane, a shard or an operator is stored.

    Attributes:
        what: the name, for messages.
        number: of the format.
        type_: of its head.
    """

    def decode(self, data: bytes) -> T:
        """Read the result of `encode`.

        Raises:
            CheckpointMismatch: it has another format.
        """
        number, body = number_of(data)
        if number != self.number:
            msg = (
                f"{self.what} was written in format {number}, and this version of Slackwater reads "
                f"format {self.number}: run the version that wrote it, or start a new run"
            )
            raise CheckpointMismatch(msg)
        return self._decoder.decode(body)


class MessageFormat(_Numbered[T]):
    """How one stage packs a message for the next.

    Attributes:
        what: what was sent, and by whom, for errors.
        number: of the format.
        type_: of the message.
    """

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
