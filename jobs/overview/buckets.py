"""Counts over a run's life in few buckets, however long it is.

Widths are powers of two of a second, and buckets begin at whole multiples of their width since
1970: so buckets of any two histories can be added after widening the narrower ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

SECOND_US: Final = 1_000_000
KEPT_MAX: Final = 512
"""How many buckets are kept of a table: more than are shown, so that widths are the others'."""


class Buckets(msgspec.Struct):
    """Counts by the time of their batches.

    Attributes:
        width_us: the width of a bucket.
        counts: by bucket, several counts.
    """

    width_us: int = SECOND_US
    counts: dict[int, list[int]] = {}

    def add(self, at_us: int, counts: Sequence[int]) -> None:
        """Count something at an instant."""
        self._put(at_us // self.width_us, counts)
        while self._span() > KEPT_MAX:
            self._widen()

    def merge(self, other: Buckets) -> None:
        """Add the counts of another history."""
        for number, counts in other.counts.items():
            self.add_wide(number * other.width_us, other.width_us, counts)

    def add_wide(self, at_us: int, width_us: int, counts: Sequence[int]) -> None:
        """Count something in a bucket of a width; narrower buckets of ours are widened."""
        while self.width_us < width_us:
            self._widen()
        self.add(at_us, counts)

    def widened(self, width_us: int) -> dict[int, list[int]]:
        """Return the counts by the beginning of wider buckets, in microseconds."""
        found = Buckets(width_us)
        for number, counts in self.counts.items():
            found._put(number * self.width_us // width_us, counts)
        return {number * width_us: counts for number, counts in found.counts.items()}

    def _put(self, number: int, counts: Sequence[int]) -> None:
        held = self.counts.get(number)
        self.counts[number] = (
            list(counts) if held is None else [a + b for a, b in zip(held, counts, strict=True)]
        )

    def _span(self) -> int:
        return max(self.counts) - min(self.counts) + 1 if self.counts else 0

    def _widen(self) -> None:
        narrow, self.counts = self.counts, {}
        self.width_us *= 2
        for number, counts in narrow.items():
            self._put(number // 2, counts)


def of_times(counted: Iterable[tuple[int, Sequence[int]]]) -> Buckets:
    """Count what has happened at instants, in any order."""
    found = Buckets(counts={})
    for at_us, counts in counted:
        found.add(at_us, counts)
    return found


def common_width(histories: Sequence[Buckets], most: int) -> int:
    """Return the least width with which all histories fit into this many buckets together."""
    width = max((one.width_us for one in histories), default=SECOND_US)
    starts = [number * one.width_us for one in histories for number in one.counts]
    while starts and max(starts) // width - min(starts) // width >= most:
        width *= 2
    return width


def beginnings(histories: Sequence[Buckets], width_us: int) -> Iterator[int]:
    """Yield the beginnings of all buckets from the first one with a count to the last."""
    numbers = [number * one.width_us // width_us for one in histories for number in one.counts]
    if numbers:
        yield from (n * width_us for n in range(min(numbers), max(numbers) + 1))


_POINTS_MAX: Final = 2_048
"""How many batches' times are kept: many more than a history has buckets."""


class BatchTimes:
    """The times of some batches; others are taken to be as old as the known one before them.

    Args:
        known: batches and times, in microseconds of the wall clock.
    """

    def __init__(self, known: Iterable[tuple[int, int]] = ()) -> None:
        self._known = dict(known)
        self._order: tuple[np.ndarray, np.ndarray] | None = None

    def learn(self, batch_id: Iterable[int], at_us: Iterable[int | None]) -> None:
        """Take the times of batches; what is known of a batch already stays."""
        for batch, at in zip(batch_id, at_us, strict=True):
            if at is not None:
                self._known.setdefault(batch, at)
        self._order = None

    def note(self, batch: int, at_us: int) -> None:
        """Take the time of a batch from its driver."""
        self._known[batch] = at_us
        self._order = None

    def of(self, batch_id: np.ndarray) -> np.ndarray | None:
        """Return the times of batches; None, if none is known at all."""
        batches, times = self._ordered()
        if not len(batches):
            return None
        place = np.searchsorted(batches, batch_id, side="right") - 1
        known: np.ndarray = times[np.maximum(place, 0)]
        return known

    def at(self, batch: int) -> int | None:
        """Return the time of a batch."""
        found = self.of(np.array([batch], dtype=np.int64))
        return None if found is None else int(found[0])

    def points(self) -> list[tuple[int, int]]:
        """Return few of them, evenly spread, with the last ones."""
        batches, times = self._ordered()
        step = -(-len(batches) // _POINTS_MAX) or 1
        chosen = sorted({*range(0, len(batches), step), *range(len(batches))[-1:]})
        return [(int(batches[n]), int(times[n])) for n in chosen]

    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        if self._order is None:
            pairs = sorted(self._known.items())
            self._order = (
                np.array([batch for batch, _ in pairs], dtype=np.int64),
                np.array([at for _, at in pairs], dtype=np.int64),
            )
        return self._order
