"""Which mechanisms took effect: how many rows have left each of them.

A mechanism is another way to the same rows. A test that means to cover one has to know that rows
have come through it, not only that a setting allowed it. So whatever decides between two ways says
how many rows came of its decision; the simulator counts them, and in production nobody does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Mechanism = Literal[
    # reading records
    "read by shape",
    "read one by one",
    "values in pieces",
    # plans
    "fused plan",
    "families",
    "family's members at once",
    "two stages",
    # groups and sums
    "hash table grown",
    "carried halves",
    "slices rolled up",
    "overflown sums",
    "failures of a class",
    "failures of a handler",
    # rows
    "rows without records",
    "rows held back",
    "rows that withdraw",
    # state
    "merged deltas",
    "cold state",
    "copy of state",
    "copy lost or torn",
    # lanes and queries
    "refused by a class",
    "added lane",
    "lane added to state",
    "idle lane left out",
    "early rows",
    "changes refused",
    "conversion",
    "other shards",
    # sinks
    "rows to the driver",
    "files by executors",
    "one table",
]

MECHANISMS: Final[tuple[Mechanism, ...]] = get_args(Mechanism)

_counts: Counter[Mechanism] | None = None


def took_effect(mechanism: Mechanism, rows: int | NDArray[Any]) -> None:
    """Count rows that have left a mechanism, if anybody counts.

    Args:
        mechanism: which.
        rows: how many; or an array, whose elements count that are not zero.
    """
    if _counts is None:
        return
    found = rows if isinstance(rows, int) else int(np.count_nonzero(rows))
    if found:
        _counts[mechanism] += found


@contextmanager
def counted() -> Iterator[Counter[Mechanism]]:
    """Count within a block, in this process."""
    global _counts  # noqa: PLW0603 - one for the process, like its thresholds
    before, _counts = _counts, Counter()
    try:
        yield _counts
    finally:
        _counts = before
