"""What becomes of the copies of large state on the disks of simulated workers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path


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
