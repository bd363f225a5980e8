"""When batches were written: what the tables themselves know of it, in few points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

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
