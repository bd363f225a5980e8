"""Delivery of a batch's records: cut into chunks, shuffled, some repeated or redelivered."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from chaos.simulator.case import PlannedBatch
from chaos.simulator.platform.sink import Ends
from windowing.engine.reading.pack import RawRows

SENT_AGAIN = ("chunk delivered twice", "records sent again")
"""The faults that redeliver records to a lane."""


def chunks_of(
    log: Sequence[RawRows], begin: Ends, end: Ends, step: PlannedBatch, rng: random.Random
) -> tuple[dict[int, list[RawRows]], Counter[str]]:
    """Cut a batch into chunks.

    Args:
        step: how the records are delivered.

    Returns:
        the chunks of each lane that has any, and the faults of delivery that took effect.
    """
    chunks: dict[int, list[RawRows]] = {}
    befell = Counter[str]()
    for number, (rows, first, stop) in enumerate(zip(log, begin, end, strict=True)):
        start = max(0, first - step.rewind)
        if start == stop:
            continue
        cuts = [rng.randint(start, stop) for _ in range(step.pieces - 1)]
        edges = sorted({start, stop, *cuts})
        parts = [rows.part(a, b) for a, b in pairwise(edges)]
        parts += rng.choices(parts, k=step.twice) if step.twice else []
        rng.shuffle(parts)
        chunks[number] = parts
        befell["chunk delivered twice"] += step.twice > 0
        befell["records sent again"] += start < first
        befell["chunk cut and shuffled"] += len(edges) > 2
    return chunks, +befell


def end_of(log: Sequence[RawRows], lanes: int, begin: Ends, take: Sequence[int]) -> Ends:
    """Return the end of a batch.

    Args:
        lanes: how many of them there are now; nothing is read of those that have not joined.
        take: how many records it has of each lane, if there are so many; empty: none.
    """
    return tuple(
        min(at + more, len(rows.offsets)) if number < lanes else at
        for number, (at, rows, more) in enumerate(
            zip(begin, log, take or (0,) * len(begin), strict=True)
        )
    )


def cut_otherwise(log: Sequence[RawRows], lanes: int, begin: Ends, end: Ends) -> Ends:
    """Return a different end for a batch, if there is one."""
    more = end_of(log, lanes, end, (1,) * len(end))
    half = tuple((first + 1 + stop) // 2 for first, stop in zip(begin, end, strict=True))
    return more if more != end else half
