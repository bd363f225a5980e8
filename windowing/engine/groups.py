"""Rows of a frame that are equal in some columns, as numbered groups.

A numbered group is a place in an array, so that merging costs an addition per row and column. That
is several times less than hashing rows of several columns, some of them text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_PLACES_PER_ROW: Final = 16
"""Up to this many places for a row, a table of all places costs less than hashing; measured."""

_SPAN_MAX: Final = 1 << 31
"""The product of two is still an integer of 64 bits."""

_INT64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True)
class Groups:
    """The groups of a frame's rows.

    Attributes:
        number: of each row's group, from 0.
        count: the number of groups; none is empty.
    """

    number: Ints
    count: int

    @classmethod
    def by(cls, frame: pl.DataFrame, columns: Sequence[str]) -> Groups:
        """Group the rows of a frame that are equal in some columns; null is equal to null.

        Args:
            frame: the frame.
            columns: of it; without any, all rows are equal.
        """
        if not len(frame):
            return cls(np.zeros(0, dtype=np.int64), 0)
        groups = cls(np.zeros(len(frame), dtype=np.int64), 1)
        # Numbers first: they have few values, so that the groups stay few until the keys come.
        for column in sorted((frame[name] for name in columns), key=_is_no_integer):
            codes, span = _codes(column)
            if span > 1:
                groups = _dense(groups.number * span + codes, groups.count * span)
        return groups

    @cached_property
    def first(self) -> Ints:
        """The first row of each group."""
        rows = np.empty(self.count, dtype=np.int64)
        rows[self.number[::-1]] = np.arange(len(self.number) - 1, -1, -1)
        return rows

    @cached_property
    def sizes(self) -> Ints:
        """The number of rows of each group."""
        return np.bincount(self.number, minlength=self.count)

    def ordered_by(self, values: Ints) -> Ints:
        """Return the rows group by group, those of a group by value, equal ones in any order."""
        least, most = int(values.min(initial=0)), int(values.max(initial=0))
        span = most - least + 1
        if self.count * span > _INT64_MAX:
            return np.lexsort((values, self.number))
        return np.argsort(self.number * span + (values - least))

    def sorted_by(self, lanes: pl.Series) -> Ints:
        """Return the rows group by group, those of a group by lane."""
        lane = lanes.to_numpy().astype(np.int64)
        span = int(lane.max(initial=0)) + 1
        places = self.number * span + lane
        if self.count * span <= _PLACES_PER_ROW * len(places):
            rows = np.full(self.count * span, -1, dtype=np.int64)
            rows[places] = np.arange(len(places))
            found = rows[rows >= 0]
            if len(found) == len(places):
                return found
        return np.argsort(places, kind="stable")

    def sums(self, values: pl.Series) -> pl.Series:
        """Return the sum of the integers in each group, without nulls."""
        found = np.zeros(self.count, dtype=np.int64)
        known = values.fill_null(0) if values.null_count() else values
        np.add.at(found, self.number, known.to_numpy())
        return pl.Series(values.name, found)

    def extremes(self, values: pl.Series, *, largest: bool) -> pl.Series:
        """Return the smallest or largest value in each group; null if all are.

        Args:
            values: one per row, of any type that can be ordered.
            largest: whether the largest is meant.
        """
        if values.dtype not in (pl.Int64, pl.Float64):
            return self._extremes_of_any(values, largest=largest)
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


def no_extreme(dtype: pl.DataType, *, largest: bool) -> Any:
    """Return the number that no minimum, or no maximum, is changed by."""
    if dtype.is_float():
        return -np.inf if largest else np.inf
    info = np.iinfo(np.int64)
    return info.min if largest else info.max


def _is_no_integer(column: pl.Series) -> bool:
    return not column.dtype.is_integer()


def _codes(column: pl.Series) -> tuple[Ints, int]:
    """Return a number for each value, the same for equal ones, and how many numbers there are."""
    if column.dtype == pl.String:
        column = pl.Series(column.to_arrow().dictionary_encode().indices)
    if not column.dtype.is_integer() or column.null_count() == len(column):
        return _hashed(column)
    least, most = int(column.min()), int(column.max())  # type: ignore[arg-type]
    span = most - least + 1
    if span > _SPAN_MAX:
        return _hashed(column)
    codes = column.cast(pl.Int64) - least
    if codes.null_count():
        return codes.fill_null(span).to_numpy(), span + 1
    return codes.to_numpy(), span


def _dense(codes: Ints, span: int) -> Groups:
    """Number the codes that occur.

    Args:
        codes: from 0 up to `span`.
        span: the number of codes that there could be.
    """
    if span > _PLACES_PER_ROW * len(codes):
        return Groups(*_hashed(pl.Series(codes)))
    there = np.zeros(span, dtype=bool)
    there[codes] = True
    numbers = np.cumsum(there, dtype=np.int32) - 1
    return Groups(numbers[codes].astype(np.int64), int(numbers[-1]) + 1)


def _hashed(column: pl.Series) -> tuple[Ints, int]:
    """Number the distinct values of a column, whatever they are; return how many there are."""
    values = pl.DataFrame([column.alias("value")])
    distinct = values.unique().with_row_index("number")
    numbered = values.join(
        distinct, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return numbered["number"].cast(pl.Int64).to_numpy(), len(distinct)
