"""Folders of a simulated run, in memory where possible, and damage to copies of state in them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
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


def damage(folders: Iterable[Path], rng: random.Random) -> int:
    """Lose some copies, cut some short, and put the content of another into some.

    Returns:
        how many are not as they were.
    """
    spoilt = 0
    for folder in folders:
        files = sorted(file for file in folder.iterdir() if file.is_file())
        for file in files:
            match rng.randrange(6):
                case 0:
                    file.unlink()
                case 1:
                    file.write_bytes(file.read_bytes()[: -rng.randint(1, 9)])
                case 2:
                    others = [other for other in files if other != file and other.exists()]
                    file.write_bytes(rng.choice(others).read_bytes() if others else b"")
                case _:
                    continue
            spoilt += 1
    return spoilt
