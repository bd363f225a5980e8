"""The state protocol on a map state of Spark's operator, and copies on the executor's disk.

The state is Spark's: every value lies there, and recovery knows nothing of copies. But to send one
to a worker takes the JVM ten milliseconds a megabyte, and most steps read what the step before them
has written on the same machine. So a large value is under its own key, its digest where the value
would be, and a copy with that digest is as good; without one, the value is fetched. A copy that is
missing, torn or left by an attempt that failed costs time and changes nothing (ADR 50).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

from windowing.engine.effects import took_effect
from windowing.engine.tuning import tuning


class Settings(Protocol):
    """The settings of a session."""

    def get(self, key: str, default: str) -> str:
        """Return a setting."""


def may_copy(settings: Settings) -> bool:
    """Return whether workers may write state into files as it is.

    Where Spark encrypts its own temporary files, they may not.
    """
    return settings.get("spark.io.encryption.enabled", "false").lower() != "true"


class Copies:
    """Copies by their digests.

    Args:
        folder: for temporary files; whoever made it deletes it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of_worker(cls) -> Copies | None:
        """Return those of this worker's executor, beside Spark's own temporary files."""
        folders = os.environ.get("SPARK_LOCAL_DIRS")
        return cls(Path(folders.split(",")[0])) if folders else None

    def write(self, value: bytes) -> bytes:
        """Keep a copy of a value if the disk allows, and return its digest."""
        digest = sha256(value).digest()
        file = self._file(digest)
        # Another attempt of this task may be writing the same one.
        own = file.with_name(f"{file.name}.{os.getpid()}")
        # Without a copy the next step takes longer, so a full disk is no reason to fail.
        with suppress(OSError):
            own.write_bytes(value)
            own.replace(file)
        return digest

    def read(self, digest: bytes) -> bytes | None:
        """Return the value that has a digest; None: there is no copy of it."""
        try:
            value = self._file(digest).read_bytes()
        except OSError:
            return None
        return value if sha256(value).digest() == digest else None

    def delete(self, digest: bytes) -> None:
        """Delete the copy with a digest, if there is one."""
        with suppress(OSError):
            self._file(digest).unlink()

    def _file(self, digest: bytes) -> Path:
        return self._folder / f"state-{digest.hex()}"


# No frame, msgpack or format number begins with these bytes.
_DIGEST_FOLLOWS: Final = b"\xc1\x00sha256:"


class MapStateStore:
    """A `StateStore` (`windowing.engine.storage.state`) for the current grouping key.

    Every call crosses to the JVM and costs up to a millisecond; values may be large. To replace a
    large value by a small one, read it first: else it stays under its own key, and takes space.

    Args:
        copies: of large values; None: there are none.
    """

    def __init__(self, state: Any, copies: Copies | None) -> None:
        self._map, self._copies = state, copies
        # By key, as far as this step has seen it; None: the value lies there itself.
        self._digests: dict[str, bytes | None] = {}

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        value = self._get(key)
        digest = self._digests[key] = None if value is None else _digest_in(value)
        if digest is None:
            return value
        copy = self._copies.read(digest) if self._copies is not None else None
        took_effect("copy of state", copy is not None)
        took_effect("copy lost or torn", self._copies is not None and copy is None)
        return self._get(value_key(key)) if copy is None else copy

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        if self._copies is None or len(value) < tuning().copied_from_bytes:
            if self._digests.get(key) is not None:
                self._forget(key)
            self._digests[key] = None
            self._put(key, value)
            return
        earlier, digest = self._digests.get(key), self._copies.write(value)
        if earlier is not None and earlier != digest:
            self._copies.delete(earlier)
        self._digests[key] = digest
        self._put(key, _DIGEST_FOLLOWS + digest)
        self._put(value_key(key), value)

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        if self._digests.get(key, b"") is not None:
            self._forget(key)
        self._digests[key] = None
        self._map.removeKey((key,))

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        stored = {key[0]: bytes(value[0]) for key, value in self._map.iterator()}
        self._digests |= {key: _digest_in(value) for key, value in stored.items()}
        found = whole_values(stored)
        return iter(sorted(entry for entry in found.items() if entry[0].startswith(prefix)))

    def _forget(self, key: str) -> None:
        """Delete the value under its own key, and its copy if this step has seen its digest."""
        self._map.removeKey((value_key(key),))
        digest = self._digests.get(key)
        if digest is not None and self._copies is not None:
            self._copies.delete(digest)

    def _get(self, key: str) -> bytes | None:
        row = self._map.getValue((key,))
        return None if row is None else bytes(row[0])

    def _put(self, key: str, value: bytes) -> None:
        self._map.updateValue((key,), (value,))


def value_key(key: str) -> str:
    """Return the key that a large value lies under, beside its digest."""
    return f"{key}\x00"


def whole_values(stored: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what lies in a map state by the keys that it was put with.

    Args:
        stored: all that lies there; without large values whose digest is missing, too.
    """
    return {
        key: value if _digest_in(value) is None else stored[value_key(key)]
        for key, value in stored.items()
        if not key.endswith(value_key(""))
    }


def _digest_in(value: bytes) -> bytes | None:
    is_one = value.startswith(_DIGEST_FOLLOWS)
    return value.removeprefix(_DIGEST_FOLLOWS) if is_one else None
