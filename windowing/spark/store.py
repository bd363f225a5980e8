"""The state protocol on a map state of Spark's stateful operator.

Every call crosses to the JVM and costs a millisecond. So what is small lies together in one entry,
the index, which a step reads once and writes once. A large value lies under a key of its own, with
its digest in the index: a worker that has a copy (`windowing.spark.copies`) reads no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from windowing.engine.effects import took_effect
from windowing.engine.formats import Format
from windowing.engine.tuning import tuning
from windowing.model.run_errors import CheckpointMismatch
from windowing.spark.copies import Copies

# As types and not as text, which every task would have the JVM parse.
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])

# No frame, msgpack or format number begins with these bytes.
_DIGEST_FOLLOWS: Final = b"\xc1\x00sha256:"
# Lies under each key of the index, as a head in format 0: versions without an index refuse that,
# where they would begin anew if nothing were there.
_IS_LISTED: Final = b"\xc1\x00\xa5index"

# Ends the key of a large value; that of the index is nothing else.
_APART: Final = "\x00"
INDEX_KEY: Final = _APART

_LISTED_MAX: Final = 4 << 10
_INDEX_MAX: Final = 16 << 10
"""How many bytes a value and the index may have: it is written whole, whatever of it changes."""

INDEX: Final = Format("the index of a store", 1, dict[str, bytes])
"""How it is stored: values by key, or the digests of large ones."""


def store_of_key(
    handle: StatefulProcessorHandle, copies: Copies | None = None
) -> Callable[[], AbstractContextManager[MapStateStore]]:
    """Return what provides the store of the current grouping key for a step; to call in `init`.

    What the step has put is in Spark's state when its context ends, unless it fails.

    Args:
        handle: Spark's.
        copies: this worker's, of large values; None: it keeps none.
    """
    state = handle.getMapState("state", _KEY, _VALUE)
    return partial(_for_a_step, state, copies)


@contextmanager
def _for_a_step(state: Any, copies: Copies | None) -> Iterator[MapStateStore]:
    store = MapStateStore(state, copies)
    yield store
    store.write_index()


class MapStateStore:
    """A `windowing.engine.state.StateStore` for one grouping key, while that is the current one.

    To replace a large value that an older version has stored by a small one, read it first: else it
    stays under its own key, and takes space.

    Args:
        state: Spark's map state.
        copies: of large values; None: there are none.
    """

    def __init__(self, state: Any, copies: Copies | None) -> None:
        self._map, self._copies = state, copies
        data = self._get(INDEX_KEY)
        self._index = {} if data is None else INDEX.decode(data)
        self._stored = dict(self._index)

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        entry = self._index.get(key)
        if entry is None:
            entry = self._get(key)
            if entry is None:
                return None
            _check(key, entry)
            if _digest_in(entry) is not None:
                self._list(key, entry)
        digest = _digest_in(entry)
        if digest is None:
            return entry
        copy = self._copies.read(digest) if self._copies is not None else None
        took_effect("copy of state", copy is not None)
        took_effect("copy lost or torn", self._copies is not None and copy is None)
        return self._get(value_key(key)) if copy is None else copy

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        earlier = self._digest(key)
        if self._copies is not None and len(value) >= tuning().copied_from_bytes:
            digest = self._copies.write(value)
            if earlier is not None and earlier != digest:
                self._copies.delete(earlier)
            self._list(key, _DIGEST_FOLLOWS + digest)
            self._put(value_key(key), value)
            return
        if earlier is not None:
            self._forget_large(key, earlier)
        if self._has_room(key, value):
            self._list(key, value)
        else:
            self._index.pop(key, None)
            self._put(key, value)

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        digest = self._digest(key)
        # What is not listed may be a digest that an older version has stored.
        if digest is not None or key not in self._index:
            self._forget_large(key, digest)
        self._index.pop(key, None)
        self._map.removeKey((key,))

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        stored = {key[0]: bytes(value[0]) for key, value in self._map.iterator()}
        for key, value in stored.items():
            if key not in self._index and _digest_in(value) is not None:
                self._list(key, value)
        found = _whole(stored, self._index, lambda key: key.startswith(prefix))
        return iter(sorted(found.items()))

    def write_index(self) -> None:
        """Store the index if it has changed."""
        if self._index != self._stored:
            self._put(INDEX_KEY, INDEX.encode(self._index))
            self._stored = dict(self._index)

    def _list(self, key: str, entry: bytes) -> None:
        """Put a value or a digest into the index."""
        if key not in self._index:
            self._put(key, _IS_LISTED)
        self._index[key] = entry

    def _has_room(self, key: str, value: bytes) -> bool:
        """Whether a value may lie in the index."""
        others = sum(len(one) + len(self._index[one]) for one in self._index if one != key)
        return len(value) <= _LISTED_MAX and others + len(key) + len(value) <= _INDEX_MAX

    def _digest(self, key: str) -> bytes | None:
        entry = self._index.get(key)
        return None if entry is None else _digest_in(entry)

    def _forget_large(self, key: str, digest: bytes | None) -> None:
        """Delete the value that lies apart, and its copy."""
        self._map.removeKey((value_key(key),))
        if digest is not None and self._copies is not None:
            self._copies.delete(digest)

    def _get(self, key: str) -> bytes | None:
        row = self._map.getValue((key,))
        return None if row is None else bytes(row[0])

    def _put(self, key: str, value: bytes) -> None:
        self._map.updateValue((key,), (value,))


def value_key(key: str) -> str:
    """Return the key that a large value lies under."""
    return key + _APART


def whole_values(
    stored: Mapping[str, bytes], wanted: Callable[[str], bool] = bool
) -> dict[str, bytes]:
    """Return what lies in a map state by the keys that it was put with.

    Args:
        stored: the index, and all that lies there under wanted keys and those of large values.
        wanted: which keys; default: all.

    Raises:
        CheckpointMismatch: the index lacks a value.
    """
    data = stored.get(INDEX_KEY)
    return _whole(stored, {} if data is None else INDEX.decode(data), wanted)


def _whole(
    stored: Mapping[str, bytes], index: Mapping[str, bytes], wanted: Callable[[str], bool]
) -> dict[str, bytes]:
    entries = {key: entry for key, entry in stored.items() if not key.endswith(_APART)}
    found = dict[str, bytes]()
    for key, entry in {**entries, **index}.items():
        if wanted(key):
            _check(key, entry)
            found[key] = entry if _digest_in(entry) is None else stored[value_key(key)]
    return found


def _check(key: str, entry: bytes) -> None:
    """Refuse what says that a value is in the index, which has none.

    Raises:
        CheckpointMismatch: it is one.
    """
    if entry == _IS_LISTED:
        msg = (
            f"the state has no value of {key!r}, which should lie in the index of its store: the "
            "checkpoint is damaged; start a new run"
        )
        raise CheckpointMismatch(msg)


def _digest_in(value: bytes) -> bytes | None:
    is_one = value.startswith(_DIGEST_FOLLOWS)
    return value.removeprefix(_DIGEST_FOLLOWS) if is_one else None
