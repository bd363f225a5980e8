"""Whole numbers of up to 38 digits by columns: int64 where that is enough, else exact.

Rows whose number does not fit, or whose result might not, are *wide*: they alone are computed one
by one, with Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.types import PRECISION_MAX

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Exact = NDArray[np.object_]
"""Python's integers."""

LIMIT: Final[int] = 10**PRECISION_MAX
"""The smallest number that has too many digits."""
_WORD: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers.

    Attributes:
        low: the numbers; where they are wide, of no meaning.
        rows, wide: which rows are wide, rising, and their numbers.
    """

    low: Ints
    rows: Ints
    wide: Exact

    @staticmethod
    def narrow(low: Ints) -> Whole:
        """Return numbers that all fit."""
        return Whole(low, _NO_ROWS, _NO_NUMBERS)

    @staticmethod
    def of(numbers: Sequence[int]) -> Whole:
        """Return some numbers."""
        exact = np.array(numbers, object)
        return filled(np.zeros(len(exact), np.int64), np.arange(len(exact)), exact)[0]

    @staticmethod
    def of_words(words: Ints) -> Whole:
        """Return numbers of 128 bits, the lower word of each first."""
        low, high = np.ascontiguousarray(words[:, 0]), words[:, 1]
        rows = np.flatnonzero(high != low >> 63)
        if not len(rows):
            return Whole.narrow(low)
        lower = low[rows].astype(object) % _WORD
        return Whole(low, rows, high[rows].astype(object) * _WORD + lower)

    @staticmethod
    def choose(mask: Bools, chosen: Whole, otherwise: Whole) -> Whole:
        """Return the numbers of one where the mask is, and of the other elsewhere."""
        low = np.where(mask, chosen.low, otherwise.low)
        if not (len(chosen.rows) or len(otherwise.rows)):
            return Whole.narrow(low)
        size = len(low)
        mask, one, other = np.broadcast_to(mask, size), chosen.over(size), otherwise.over(size)
        exact = np.concatenate([one.wide[mask[one.rows]], other.wide[~mask[other.rows]]])
        rows = np.concatenate([one.rows[mask[one.rows]], other.rows[~mask[other.rows]]])
        order = np.argsort(rows)
        return Whole(low, rows[order], exact[order])

    def words(self, rows: int) -> Ints:
        """Return them as numbers of 128 bits, the lower word of each first."""
        whole = self.over(rows)
        words = np.stack([whole.low, whole.low >> 63], axis=1)
        if len(whole.rows):
            words[whole.rows, 0] = (whole.wide % _WORD).astype(np.uint64).view(np.int64)
            words[whole.rows, 1] = (whole.wide // _WORD).astype(np.int64)
        return words

    def over(self, size: int) -> Whole:
        """Return them over so many rows; one number alone stands in all of them."""
        if len(self.low) == size:
            return self
        low = np.full(size, self.low[0])
        if not len(self.rows):
            return Whole.narrow(low)
        wide = np.empty(size, object)
        wide[:] = self.wide[0]
        return Whole(low, np.arange(size), wide)

    def exact(self, rows: Ints) -> Exact:
        """Return the numbers of some rows."""
        if len(self.low) == 1:
            rows = np.zeros_like(rows)
        numbers = self.low[rows].astype(object)
        if len(self.rows):
            place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            found = self.rows[place] == rows
            numbers[found] = self.wide[place[found]]
        return numbers


_NO_ROWS: Final[Ints] = np.zeros(0, np.int64)
_NO_NUMBERS: Final[Exact] = np.zeros(0, object)


def computed(
    fast: Callable[..., tuple[Ints, Bools | None]],
    exact: Callable[..., Exact],
    *numbers: Whole,
) -> tuple[Whole, Bools | None]:
    """Compute numbers, and say which have more than 38 digits.

    Args:
        fast: from int64s to int64s, and where that result may be wrong.
        exact: the same of Python's integers; used where numbers are wide or the result doubtful.
    """
    low, doubtful = fast(*(number.low for number in numbers))
    rows = doubtful_rows(doubtful, len(low), numbers)
    if not len(rows):
        return Whole.narrow(low), None
    return filled(low, rows, exact(*(number.exact(rows) for number in numbers)))


def compared(
    fast: Callable[..., tuple[Bools, Bools | None]],
    exact: Callable[..., Exact],
    *numbers: Whole,
) -> Bools:
    """Answer a question about numbers; the arguments are as those of `computed`."""
    answer, doubtful = fast(*(number.low for number in numbers))
    rows = doubtful_rows(doubtful, len(answer), numbers)
    if len(rows):
        answer[rows] = exact(*(number.exact(rows) for number in numbers)).astype(bool)
    return answer


def doubtful_rows(doubtful: Bools | None, size: int, numbers: Sequence[Whole]) -> Ints:
    """Return the rows that int64 does not decide."""
    wide = [number for number in numbers if len(number.rows)]
    if not wide and (doubtful is None or not doubtful.any()):
        return _NO_ROWS
    every = np.zeros(size, bool) if doubtful is None else np.broadcast_to(doubtful, size).copy()
    for number in wide:
        every[number.rows if len(number.low) == size else slice(None)] = True
    return np.flatnonzero(every)


def filled(low: Ints, rows: Ints, exact: Exact) -> tuple[Whole, Bools | None]:
    """Return numbers with exact ones in some rows, and which of these have too many digits."""
    fits = ((exact >= INT64_MIN) & (exact <= INT64_MAX)).astype(bool)
    low = low.copy()  # it may be an argument's
    low[rows[fits]] = exact[fits].astype(np.int64)
    if fits.all():
        return Whole.narrow(low), None
    wide_rows, wide = rows[~fits], exact[~fits]
    over = (abs(wide) >= LIMIT).astype(bool)
    if not over.any():
        return Whole(low, wide_rows, wide), None
    failed = np.zeros(len(low), bool)
    failed[wide_rows[over]] = True
    return Whole(low, wide_rows[~over], wide[~over]), failed
