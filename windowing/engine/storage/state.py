"""The state store of lanes and shards: a small protocol, and an in-memory implementation.

Values are frames (`windowing.engine.storage.frames`) or msgpack, never pickle. The runtime makes
each step atomic: all of its writes are kept, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from windowing.model import Pipeline
from windowing.model.run_errors import CheckpointMismatch


class StateStore(Protocol):
    """Bytes by name."""

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""


class MemoryStore:
    """An in-memory store; `snapshot` and `restore` serve as its checkpoint."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        return self._values.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._values[key] = value

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._values.pop(key, None)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        keys = sorted(key for key in self._values if key.startswith(prefix))
        return iter([(key, self._values[key]) for key in keys])

    def snapshot(self) -> dict[str, bytes]:
        """Return a copy of the content."""
        return dict(self._values)

    def restore(self, snapshot: dict[str, bytes]) -> None:
        """Restore a snapshot."""
        self._values = dict(snapshot)


class StepStore:
    """A store whose changes are made together when a step ends.

    Calls to a store are expensive on Spark. What a step has read or written is at hand, and what it
    writes and deletes again never reaches the store.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._known: dict[str, bytes | None] = {}
        self._changed: dict[str, None] = {}

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        if key not in self._known:
            self._known[key] = self._store.get(key)
        return self._known[key]

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._known[key] = value
        self._changed[key] = None

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._known[key] = None
        self._changed[key] = None

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        found = dict(self._store.scan(prefix))
        found |= {key: data for key, data in self._known.items() if data is not None}
        gone = {key for key, data in self._known.items() if data is None}
        keys = sorted(key for key in found if key.startswith(prefix) and key not in gone)
        return iter([(key, found[key]) for key in keys])

    def commit(self) -> None:
        """Make the changes."""
        for key in self._changed:
            value = self._known[key]
            if value is None:
                self._store.delete(key)
            else:
                self._store.put(key, value)
        self._changed.clear()


def check_fingerprint(whose: str, found: str, pipeline: Pipeline) -> None:
    """Refuse the state of another version of a pipeline, except for lanes added since.

    Args:
        whose: the lane or shard, for the message.
        found: the fingerprint in the state.
        pipeline: the pipeline that resumes from it.

    Raises:
        CheckpointMismatch: they differ.
    """
    if not pipeline.wrote(found):
        msg = (
            f"the state of {whose} was written by another version of pipeline {pipeline.name} "
            f"(fingerprint {found}, now {pipeline.fingerprint}): start a new run, or restore the "
            "pipeline file"
        )
        raise CheckpointMismatch(msg)
