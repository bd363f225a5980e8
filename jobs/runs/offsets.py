"""Offsets of a checkpoint, from Spark's own files, the only place that keeps them."""

from __future__ import annotations

import json
from pathlib import Path

from windowing.model.source import Source


def committed_offsets(checkpoint: Path, source: Source | None = None) -> tuple[int, dict[int, int]]:
    """Return the committed part of a checkpoint: number of batches, and next offset per lane.

    Args:
        checkpoint: the run's checkpoint.
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    return _newest(checkpoint, "commits", source)


def planned_offsets(checkpoint: Path, source: Source | None = None) -> dict[int, int]:
    """Return the next offset per lane after the newest planned batch, which may be written already.

    Args: as for `committed_offsets`.
    """
    return _newest(checkpoint, "offsets", source)[1]


def _newest(checkpoint: Path, log: str, source: Source | None) -> tuple[int, dict[int, int]]:
    """Return the number of batches in one of Spark's logs, and where the newest one ends."""
    numbers = [int(path.name) for path in (checkpoint / log).glob("[0-9]*")]
    if not numbers:
        return 0, {}
    last = max(numbers)
    lines = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
    by_topic = json.loads(lines[-1])
    offsets: dict[int, int] = {}
    for topic, partitions in by_topic.items():
        for partition, offset in partitions.items():
            number = int(partition) if source is None else source.number(topic, int(partition))
            if number is not None:
                offsets[number] = int(offset)
    return last + 1, offsets
