"""Where lanes and shards keep their state: a small protocol, and a store in memory.

Values are Arrow IPC streams or msgpack, never pickle. An engine makes each step atomic: what a step
put is kept with all of it or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from windowing.model import Pipeline
from windowing.model.run_errors import CheckpointMismatch


class StateStore(Protocol):
    """Bytes by name."""

    def get(self, key: str) -> bytes | None:
        """The value of a key, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""

    def delete(self, key: str) -> None:
        """Forget a key; a key that is not there is passed over."""

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """All keys that begin with `prefix`, in order, and their values."""


class MemoryStore:
    """A store in memory; `snapshot` and `restore` stand for a checkpoint."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """The value of a key, or None."""
        return self._values.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._values[key] = value

    def delete(self, key: str) -> None:
        """Forget a key; a key that is not there is passed over."""
        self._values.pop(key, None)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """All keys that begin with `prefix`, in order, and their values."""
        keys = sorted(key for key in self._values if key.startswith(prefix))
        return iter([(key, self._values[key]) for key in keys])

    def snapshot(self) -> dict[str, bytes]:
        """A copy of all that is stored."""
        return dict(self._values)

    def restore(self, snapshot: dict[str, bytes]) -> None:
        """Go back to a snapshot."""
        self._values = dict(snapshot)


def check_fingerprint(whose: str, found: str, pipeline: Pipeline) -> None:
    """Refuse a state that another version of a pipeline wrote, but for lanes that joined since.

    Args:
        whose: the lane or shard, for the message.
        found: the fingerprint in the state, in whatever form it was written.
        pipeline: the pipeline that is to go on with it.

    Raises:
        CheckpointMismatch: they differ.
    """
    if not pipeline.wrote(found) and not pipeline.wrote_before(found):
        msg = (
            f"the state of {whose} was written by another version of pipeline {pipeline.name} "
            f"(fingerprint {found}, now {pipeline.fingerprint}): start a new run, or restore the "
            "pipeline file"
        )
        raise CheckpointMismatch(msg)
