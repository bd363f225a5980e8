"""Results that are read off the entries of a bag: the first, the r-th, all, how many.

The r-th of n values, in rising order and counted with their repeats, is the quantile of the share q
for r = max(1, ceil(q n)): the smallest value that at least the share q of all values do not exceed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import polars as pl

from windowing.engine.aggregates.bags import COUNT, Bag
from windowing.engine.aggregates.sketches import estimated_count

VALUE = "#value"
_ROW = "row"


def first(bag: Bag, partials: pl.DataFrame) -> pl.Series:
    """The value of each bag's first entry."""
    return _per_state(partials, bag.entries(partials).group_by(_ROW).agg(pl.col(VALUE).first()))


def quantile(bag: Bag, partials: pl.DataFrame, share: Fraction) -> pl.Series:
    """The quantile of each bag that counts values."""
    numerator, denominator = share.numerator, share.denominator

    def rank(count: pl.Expr) -> pl.Expr:
        above = (count * numerator + (denominator - 1)) // denominator
        return pl.max_horizontal(above, pl.lit(1, dtype=pl.Int64))

    return _ranked(bag, partials, rank)


def median(bag: Bag, partials: pl.DataFrame) -> list[float | None]:
    """The middle value, or the exact mean of the two middle ones, rounded once."""
    lower = _ranked(bag, partials, lambda count: (count + 1) // 2)
    upper = _ranked(bag, partials, lambda count: count // 2 + 1)
    return [
        None if low is None else _middle(low, high)
        for low, high in zip(lower.to_list(), upper.to_list(), strict=True)
    ]


def _middle(low: float, high: float) -> float:
    exact = (Fraction(low) + Fraction(high)) / 2
    return exact.numerator / exact.denominator + 0.0  # between two doubles: never beyond them


def _ranked(bag: Bag, partials: pl.DataFrame, rank: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    entries = bag.entries(partials)
    upto, count = pl.col(COUNT).cum_sum().over(_ROW), pl.col(COUNT).sum().over(_ROW)
    reached = entries.filter(upto >= rank(count))
    return _per_state(partials, reached.group_by(_ROW, maintain_order=True).first())


def listed(bag: Bag, partials: pl.DataFrame, most: int | None = None) -> pl.Series:
    """The values of each bag in order, with their repeats; at most so many."""
    entries = bag.entries(partials)
    if bag.counted:
        entries = entries.with_columns(pl.col(VALUE).repeat_by(COUNT)).explode(VALUE)
    values = pl.col(VALUE) if most is None else pl.col(VALUE).head(most)
    return _per_state(partials, entries.group_by(_ROW, maintain_order=True).agg(values))


def distinct(bag: Bag, partials: pl.DataFrame) -> list[int | None]:
    """How many entries each bag has; null for none."""
    counts = bag.entries(partials).group_by(_ROW).agg(pl.len().cast(pl.Int64).alias(VALUE))
    return _per_state(partials, counts).to_list()


def estimated(bag: Bag, partials: pl.DataFrame, size: int) -> list[int | None]:
    """How many distinct values the hashes in each bag stand for; null for none."""
    held = bag.entries(partials).group_by(_ROW).agg(kept=pl.len(), largest=pl.col(VALUE).max())
    counts: list[int | None] = [None] * len(partials)
    for row, kept, largest in held.iter_rows():
        counts[row] = estimated_count(kept, largest, size)
    return counts


def _per_state(partials: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """What was found, by `row`, for every partial state in order; null where nothing was."""
    rows = partials.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias(_ROW))
    return rows.join(found, on=_ROW, how="left", maintain_order="left")[VALUE]
