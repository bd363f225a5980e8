"""Offsets of a checkpoint, from Spark's own files, the only place that keeps them."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.checkpoints.base import read_base
from windowing.model.source import Source


def committed_offsets(checkpoint: Path, source: Source | None = None) -> tuple[int, dict[int, int]]:
    """Return the committed part of a checkpoint: number of batches, and next offset per lane.

    Args:
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    return _newest(checkpoint, "commits", source)


def planned_offsets(checkpoint: Path, source: Source | None = None) -> dict[int, int]:
    """Return the next offset per lane after the newest planned batch, which may be written already.

    Args: as for `committed_offsets`.
    """
    return _newest(checkpoint, "offsets", source)[1]


def _newest(checkpoint: Path, log: str, source: Source | None) -> tuple[int, dict[int, int]]:
    base, numbers = read_base(checkpoint), [int(p.name) for p in (checkpoint / log).glob("[0-9]*")]
    ends = _plan(checkpoint / "offsets" / str(max(numbers))) if numbers else base.ends
    offsets: dict[int, int] = {}
    for lane, offset in ends.items():
        topic, _, partition = lane.rpartition("/")
        number = int(partition) if source is None else source.number(topic, int(partition))
        if number is not None:
            offsets[number] = int(offset)
    return base.batch + max(numbers, default=-1) + 1, offsets


def _plan(file: Path) -> dict[str, int]:
    by_topic = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return {
        f"{topic}/{partition}": offset
        for topic, partitions in by_topic.items()
        for partition, offset in partitions.items()
    }
