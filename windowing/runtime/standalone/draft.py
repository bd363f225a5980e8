"""Changes since the last checkpoint, over the store that holds the checkpoint.

A step writes into a draft. `commit` is the checkpoint: it moves all changes into the store, which
persists all of them or none. `discard` is the effect of a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windowing.engine.storage.state import StateStore


class Draft:
    """A state store with uncommitted changes.

    Args:
        store: holds the last checkpoint.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._changes: dict[str, bytes | None] = {}

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        return self._changes[key] if key in self._changes else self._store.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._changes[key] = value

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._changes[key] = None

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their current values."""
        changed = {k: v for k, v in self._changes.items() if k.startswith(prefix)}
        if not changed:
            return self._store.scan(prefix)
        found = {k: v for k, v in self._store.scan(prefix) if k not in changed}
        found |= {k: v for k, v in changed.items() if v is not None}
        return iter(sorted(found.items()))

    def commit(self) -> None:
        """Persist the changes."""
        for key, value in self._changes.items():
            if value is None:
                self._store.delete(key)
            else:
                self._store.put(key, value)
        self._changes = {}

    def discard(self) -> None:
        """Revert to the checkpoint."""
        self._changes = {}

    def changes(self) -> dict[str, bytes | None]:
        """Return a copy of the changes; None: deleted."""
        return dict(self._changes)

    def resume(self, changes: Mapping[str, bytes | None]) -> None:
        """Restore changes from `changes`."""
        self._changes = dict(changes)
