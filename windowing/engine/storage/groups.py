"""Rows of a frame that are equal in some columns, as numbered groups.

A numbered group is a place in an array, so that merging costs an addition per row and column. Rows
are compared as machine words: integers are words, and what else there is is numbered first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.effects import took_effect
from windowing.engine.storage.decimals import from_integers, integers
from windowing.engine.tuning import tuning

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_INT64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True)
class Groups:
    """The groups of a frame's rows.

    Attributes:
        number: of each row's group, from 0, in the order in which groups occur.
        first: the first row of each group.
    """

    number: Ints
    first: Ints

    @classmethod
    def by(cls, frame: pl.DataFrame, columns: Sequence[str]) -> Groups:
        """Group the rows of a frame that are equal in some columns; null is equal to null.

        Args:
            columns: of it; without any, all rows are equal.
        """
        rows = len(frame)
        words = [word for name in columns for word in _words(frame[name])]
        table = np.empty((rows, len(words)), dtype=np.uint64)
        for place, word in enumerate(words):
            table[:, place] = word
        if rows < tuning().compiled_from_rows:
            return cls._of_few(table)
        from windowing.engine.loops.numbering import number  # noqa: PLC0415 - loads numba

        numbers, firsts = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
        count = number(table, numbers, firsts, tuning().hash_slots)
        took_effect("hash table grown", count if 2 * count > tuning().hash_slots else 0)
        return cls(numbers, firsts[:count].copy())

    @classmethod
    def _of_few(cls, table: Words) -> Groups:
        firsts: dict[bytes, int] = {}
        first = [firsts.setdefault(words.tobytes(), row) for row, words in enumerate(table)]
        place = {row: number for number, row in enumerate(firsts.values())}
        numbers = np.array([place[row] for row in first], dtype=np.int64)
        return cls(numbers, np.array([*place], dtype=np.int64))

    @property
    def count(self) -> int:
        """The number of groups; none is empty."""
        return len(self.first)

    @cached_property
    def sizes(self) -> Ints:
        """The number of rows of each group."""
        return np.bincount(self.number, minlength=self.count)

    def ordered_by(self, values: Ints) -> Ints:
        """Return the rows group by group, those of a group by value, equal ones in any order."""
        span = int(values.max(initial=0)) - int(values.min(initial=0)) + 1
        if self.count * span > _INT64_MAX:
            return np.lexsort((values, self.number))
        return np.argsort(self.number * span + values)  # no sum overflows: 0 is within the span

    def sums(self, values: pl.Series) -> pl.Series:
        """Return the sum of the integers in each group, without nulls."""
        known = (values.fill_null(0) if values.null_count() else values).to_numpy()
        found = np.zeros(self.count, dtype=np.int64)
        np.add.at(found, self.number, known)
        return pl.Series(values.name, found)

    def extremes(self, values: pl.Series, *, largest: bool) -> pl.Series:
        """Return the smallest or largest value in each group; null if all are.

        Args:
            values: one per row, of any type that can be ordered.
            largest: whether the largest is meant.
        """
        known = numbers(values)
        if known is None:
            return self._extremes_of_any(values, largest=largest)
        return from_numbers(self._extreme_numbers(known, largest=largest), values.dtype)

    def _extreme_numbers(self, values: pl.Series, *, largest: bool) -> pl.Series:
        rest = no_extreme(values.dtype, largest=largest)
        found = np.full(self.count, rest, dtype=values.dtype.to_python())
        merge = np.maximum if largest else np.minimum
        if not values.null_count():
            merge.at(found, self.number, values.to_numpy())
            return pl.Series(values.name, found)
        known = values.is_not_null().to_numpy()
        merge.at(found, self.number[known], values.drop_nulls().to_numpy())
        there = np.zeros(self.count, dtype=bool)
        there[self.number[known]] = True
        none = pl.Series([None], dtype=values.dtype)
        return pl.Series(values.name, found).zip_with(pl.Series(there), none)

    def _extremes_of_any(self, values: pl.Series, *, largest: bool) -> pl.Series:
        value = pl.col(values.name)
        numbered = pl.DataFrame([pl.Series("#", self.number), values])
        found = numbered.group_by("#").agg(value.max() if largest else value.min())
        return found.sort("#")[values.name]


def numbers(values: pl.Series) -> pl.Series | None:
    """Return numbers with the order of some values, and their nulls; None: there are no such."""
    if isinstance(values.dtype, pl.Decimal):
        return integers(values)
    return values if values.dtype in (pl.Int64, pl.Float64) else None


def from_numbers(found: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the values, of a type, that `numbers` gave."""
    return from_integers(found, dtype.scale) if isinstance(dtype, pl.Decimal) else found


def no_extreme(dtype: pl.DataType, *, largest: bool) -> Any:
    """Return the number that no minimum, or no maximum, is changed by."""
    if dtype.is_float():
        return -np.inf if largest else np.inf
    info = np.iinfo(np.int64)
    return info.min if largest else info.max


def _words(column: pl.Series) -> list[Words]:
    """Return words that are equal where the values are, one or more for each."""
    if not (column.dtype == pl.String or column.dtype.is_integer()):
        return [_numbers(column)]
    if column.dtype == pl.String:  # less than half of what `_numbers` costs
        column = pl.Series(column.to_arrow().dictionary_encode().indices)
    known = column.fill_null(0) if column.null_count() else column
    found = [known.cast(pl.Int64, wrap_numerical=True).to_numpy().view(np.uint64)]
    return [*found, column.is_null().to_numpy().astype(np.uint64)] if column.null_count() else found


def _numbers(column: pl.Series) -> Words:
    values = pl.DataFrame([column.alias("value")])
    distinct = values.unique().with_row_index("number")
    numbered = values.join(
        distinct, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return numbered["number"].cast(pl.UInt64).to_numpy()
