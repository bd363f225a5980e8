"""Where a checkpoint begins that continues another one: its number of batches, and their end.

Spark numbers the batches of every checkpoint from 0. Tables, tokens and people count those of the
run: the checkpoint's, plus the base's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

_FILE, _SEED = "base.json", "seed"


@dataclass(frozen=True)
class Base:
    """What a checkpoint continues; by default nothing, as in a run's first one.

    Attributes:
        batch: the number of its first batch.
        ends: by lane name, the offset that it begins with.
        fingerprints: of the pipelines that wrote the run's earlier batches.
        after: the name of the folder beside it in which the other checkpoint is kept.
    """

    batch: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    fingerprints: tuple[str, ...] = ()
    after: str = ""


def read_base(checkpoint: Path) -> Base:
    """Return what a checkpoint, which may not exist yet, continues."""
    file = checkpoint / _FILE
    if not file.exists():
        return Base()
    said = json.loads(file.read_text(encoding="utf-8"))
    return Base(said["batch"], said["ends"], tuple(said["fingerprints"]), said["after"])


def write_base(checkpoint: Path, base: Base) -> None:
    """Write what a new checkpoint continues, into its folder."""
    (checkpoint / _FILE).write_text(json.dumps(asdict(base)), encoding="utf-8")


def seed_of(checkpoint: Path) -> Path:
    """Return the folder of the state that a checkpoint with a base begins with."""
    return checkpoint / _SEED
