"""The state protocol on a map state of Spark's stateful operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

# As types and not as text, which every task would have the JVM parse.
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


class MapStateStore:
    """A `windowing.engine.state.StateStore` for the current grouping key.

    Every call crosses to the JVM and costs a millisecond or two; values may be large.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._map: Any = handle.getMapState("state", _KEY, _VALUE)

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        row = self._map.getValue((key,))
        return None if row is None else bytes(row[0])

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._map.updateValue((key,), (value,))

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._map.removeKey((key,))

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        entries = [(key[0], bytes(value[0])) for key, value in self._map.iterator()]
        return iter(sorted(entry for entry in entries if entry[0].startswith(prefix)))
