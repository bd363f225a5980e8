"""Copies of large state on the disk of the executor, so that Spark need not send it to Python.

The state is Spark's: every value lies there, and recovery knows nothing of copies. But to send one
to a worker takes the JVM ten milliseconds a megabyte, and most steps read what the step before them
has written on the same machine. So the store has the digest of a large value beside it, and a copy
with that digest is as good; without one, the value is fetched. A copy that is missing, torn or left
by an attempt that failed costs time and changes nothing (ADR 50).
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol


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
