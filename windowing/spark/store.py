"""The state protocol on a map state of Spark's stateful operator."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

# As types and not as text, which every task would have the JVM parse.
_KEY = StructType([StructField("key", StringType())])
_BYTES, _TEXT = (StructType([StructField("value", type_())]) for type_ in (BinaryType, StringType))

Stored = bytes | str
"""A value as it lies in Spark's state."""


class MapStateStore:
    """A `windowing.engine.state.StateStore` for the current grouping key.

    Every call crosses to the JVM and costs a millisecond or two; values may be large. The JVM sends
    values to Python by pickle, which takes ten milliseconds for a megabyte of bytes, one by one,
    and hardly any for text: so they are stored as base64.

    Args:
        handle: Spark's.
        as_text: whether values are stored as text; False: as bytes, as in checkpoints of earlier
            versions.
    """

    def __init__(self, handle: StatefulProcessorHandle, *, as_text: bool = True) -> None:
        self._map: Any = handle.getMapState("state", _KEY, _TEXT if as_text else _BYTES)
        self._as_text = as_text

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        row = self._map.getValue((key,))
        return None if row is None else as_bytes(row[0])

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._map.updateValue((key,), (as_text(value) if self._as_text else value,))

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._map.removeKey((key,))

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        entries = [(key[0], value[0]) for key, value in self._map.iterator()]
        chosen = sorted(entry for entry in entries if entry[0].startswith(prefix))
        return ((key, as_bytes(value)) for key, value in chosen)


def as_text(value: bytes) -> str:
    """Return a value as text."""
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def as_bytes(stored: Stored) -> bytes:
    """Return the value that was stored, as text or as bytes."""
    return binascii.a2b_base64(stored) if isinstance(stored, str) else bytes(stored)
