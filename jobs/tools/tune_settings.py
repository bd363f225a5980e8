"""Which slacks are worth comparing on a log, and which of them stand out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jobs.tools.knee import knee_of
from jobs.tools.times_in_words import round_up
from windowing.engine.wids import Ints

_GRID = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def time_grid(needed_us: Ints, proposed_us: set[int]) -> list[int]:
    """Return slacks in time: none, those proposed, and quantiles of what records need."""
    if not len(needed_us):
        return sorted({0, *proposed_us})
    points = (int(np.quantile(needed_us, share, method="higher")) + 1 for share in _GRID)
    return sorted({0, *proposed_us, *map(round_up, points)})


def rows_grid(enough: int, proposed: int) -> list[int]:
    """Return slacks in rows: none, the one proposed, round ones, and one that is enough."""
    steps = (digit * 10**power for power in range(len(str(enough))) for digit in (1, 2, 5))
    return sorted({0, proposed, enough, *(step for step in steps if step < enough)})


def knee_in_rows(
    found: Sequence[tuple[int | None, float]], slack_rows: int, least: float
) -> int | None:
    """Find the knee among slacks in rows, each with its late share, up to one of them."""
    curve = [(slack, max(late, least)) for slack, late in found if slack is not None]
    slacks = [slack for slack, _ in curve if slack <= slack_rows]
    at = knee_of(slacks, [late for slack, late in curve if slack <= slack_rows])
    return None if at is None or slacks[at] == slack_rows else slacks[at]


def first_that(last: int, holds: Callable[[int], bool]) -> int:
    """Return a number for which something holds, and not for the one before; it does for `last`."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
