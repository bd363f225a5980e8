"""Folders of a simulated run, in memory where the machine has a file system there."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the names in it are random


class Scratch:
    """A folder that is made when it is first asked for."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._made = 0

    def new(self) -> Path:
        """Return a new folder in it."""
        if self._root is None:
            where = _IN_MEMORY if _IN_MEMORY.is_dir() else None
            self._root = Path(mkdtemp(prefix="slackwater-simulated-", dir=where))
        self._made += 1
        folder = self._root / f"{self._made}"
        folder.mkdir()
        return folder

    def close(self) -> None:
        """Remove it with all that is in it."""
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None
