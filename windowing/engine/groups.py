"""Rows of a frame that are equal in some columns, as numbered groups.

A numbered group is a place in an array, so that merging costs an addition per row and column. Rows
are compared as machine words: integers are, and so are texts of up to twelve bytes with their
length, as Arrow's views have them. What is longer, or of another type, is numbered by itself first.
Words of few different values share one.
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
from windowing.engine.loops.numbering import extent, number, pack
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
            frame: the frame.
            columns: of it; without any, all rows are equal.
        """
        rows = len(frame)
        separate = [word for name in columns for word in _words(frame[name])]
        words = _packed(separate)
        took_effect("several columns in a word", rows if len(words) < len(separate) else 0)
        table = np.empty((rows, len(words)), dtype=np.uint64)
        for place, word in enumerate(words):
            table[:, place] = word
        numbers, firsts = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
        count = number(table, numbers, firsts, tuning().hash_slots)
        took_effect("hash table grown", count if 2 * count > tuning().hash_slots else 0)
        return cls(numbers, firsts[:count].copy())

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
        least, most = int(values.min(initial=0)), int(values.max(initial=0))
        span = most - least + 1
        if self.count * span > _INT64_MAX:
            return np.lexsort((values, self.number))
        places = self.number * span + (values - least)
        if self.count * span <= tuning().places_per_row * len(places):
            rows = np.full(self.count * span, -1, dtype=np.int64)
            rows[places] = np.arange(len(places))
            found = rows[rows >= 0]
            if len(found) == len(places):
                return found
        return np.argsort(places)

    def sums(self, values: pl.Series) -> pl.Series:
        """Return the sum of the integers in each group, without nulls."""
        known = (values.fill_null(0) if values.null_count() else values).to_numpy()
        # As in single records: their number is 1, and what most values have beyond 32 bits is 0.
        if len(known) and _are_the_same(known):
            return pl.Series(values.name, self.sizes * known[0])
        found = np.zeros(self.count, dtype=np.int64)
        np.add.at(found, self.number, known)
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


def _are_the_same(values: Ints) -> bool:
    # A few are asked first: mostly they are enough to know that they are not.
    return all(
        bool((some == values[0]).all()) for some in (values[: tuning().asked_values], values)
    )


def no_extreme(dtype: pl.DataType, *, largest: bool) -> Any:
    """Return the number that no minimum, or no maximum, is changed by."""
    if dtype.is_float():
        return -np.inf if largest else np.inf
    info = np.iinfo(np.int64)
    return info.min if largest else info.max


def _words(column: pl.Series) -> list[Words]:
    """Return words that are equal where the values are, one or more for each."""
    if column.dtype == pl.String:
        found = _views(column)
    elif column.dtype.is_integer():
        known = column.fill_null(0) if column.null_count() else column
        found = [known.cast(pl.Int64, wrap_numerical=True).to_numpy().view(np.uint64)]
    else:
        return [_numbers(column)]
    return [*found, column.is_null().to_numpy().astype(np.uint64)] if column.null_count() else found


def _packed(words: Sequence[Words]) -> list[Words]:
    """Return fewer words that are equal where all of these are.

    A word's distances from its smallest need few bits if it is a window, and none if all are equal.
    So several words fit into one, and a row is hashed and compared in one step.
    """
    spans = [(*extent(word), word) for word in words]
    packed, room = list[Words](), 0
    for least, most, word in sorted(spans, key=_width):
        bits = _width((least, most, word)).bit_length()
        if 0 < bits <= room:
            pack(word, np.uint64(least), np.uint64(bits), packed[-1])
        elif bits:
            packed.append(word - np.uint64(least))
            room = tuning().packed_word_bits
        room -= bits
    return packed


def _width(span: tuple[np.uint64, np.uint64, Words]) -> int:
    """Return how far the largest of some words is from the smallest; 0 if there are none."""
    least, most, _ = span
    return max(int(most) - int(least), 0)


def _views(texts: pl.Series) -> list[Words]:
    """Return two words for each text; if some are long, one."""
    known = texts.fill_null("") if texts.null_count() else texts
    array = known.to_arrow(compat_level=pl.CompatLevel.newest())
    views = np.frombuffer(array.buffers()[1], np.uint32).reshape(-1, 4)[array.offset :]
    if views[: len(texts), 0].max(initial=0) > tuning().viewed_bytes_max:
        took_effect("texts beyond their views", len(texts))
        codes = texts.to_arrow().dictionary_encode().indices
        return [pl.Series(codes).fill_null(0).to_numpy().astype(np.uint64)]
    words = views[: len(texts)].view(np.uint64)
    return [words[:, 0], words[:, 1]]


def _numbers(column: pl.Series) -> Words:
    """Number the distinct values of a column, whatever they are."""
    values = pl.DataFrame([column.alias("value")])
    distinct = values.unique().with_row_index("number")
    numbered = values.join(
        distinct, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return numbered["number"].cast(pl.UInt64).to_numpy()
