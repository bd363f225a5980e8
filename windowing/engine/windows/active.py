"""Which of a query's windows there are, if it joins its stream or leaves it: bounds of numbers.

Records are late for windows, and released to them, as if the query ran for ever; the bounds are
applied afterwards. So a slice at the edge is that of such a query, clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from windowing.engine.wids import NOTHING_YET, Flags, Grid, Ints, grid
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class ActiveWindows:
    """The windows of a query's activity.

    Attributes:
        first, last: their numbers, inclusive.
        begins: no window holds a smaller value.
    """

    first: int
    last: int
    begins: int

    @classmethod
    def of(cls, window: Window) -> Self | None:
        """Return the windows of a query's activity; None: it is always active."""
        if not isinstance(window, Sliding) or window.active is None:
            return None
        numbers, active = grid(window), window.active
        first, last, begins = INT64_MIN, INT64_MAX, NOTHING_YET
        if active.begins_us is not None:
            begins = active.begins_us
            first = _first(numbers, begins, whole=active.warmup == "skip")
        if active.until_us is not None:
            last = (active.until_us - numbers.origin) // window.slide - 1
        return cls(max(first, INT64_MIN), min(last, INT64_MAX), begins)

    def outside(self, values: Ints, first: Ints, last: Ints) -> Flags:
        """Return which values are in none of them, of those in the windows given."""
        first, last = self.clipped(first, last)
        return (first > last) | (values < self.begins)

    def clipped(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Return the first and last of windows that are among them; none if first is larger."""
        return np.maximum(first, self.first), np.minimum(last, self.last)


def _first(numbers: Grid, begins: int, *, whole: bool) -> int:
    """Return the first window that ends after an instant, or that also begins from it on."""
    if not whole:
        return (begins - numbers.origin) // numbers.slide
    if numbers.least is not None and begins <= numbers.least:
        return 0
    assert numbers.range_ is not None  # noqa: S101 - sliding windows have one
    # The smallest w with origin + (w + 1) * slide - range >= begins.
    return -((numbers.origin - begins - numbers.range_) // numbers.slide) - 1
