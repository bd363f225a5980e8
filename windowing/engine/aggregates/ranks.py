"""Results from the entries of a bag: the first, the r-th, all, or their number.

The r-th of n values, ascending and with repeats, is the quantile of the share q for r = max(1,
ceil(q n)): the smallest value that at least the share q of all values do not exceed.
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
    """Return the value of each bag's first entry."""
    return _per_state(partials, bag.entries(partials).group_by(_ROW).agg(pl.col(VALUE).first()))


def quantile(bag: Bag, partials: pl.DataFrame, share: Fraction) -> pl.Series:
    """Return the quantile of each bag that counts values."""
    numerator, denominator = share.numerator, share.denominator

    def rank(count: pl.Expr) -> pl.Expr:
        above = (count * numerator + (denominator - 1)) // denominator
        return pl.max_horizontal(above, pl.lit(1, dtype=pl.Int64))

    return _ranked(bag, partials, rank)


def median(bag: Bag, partials: pl.DataFrame) -> list[float | None]:
    """Return the middle value, or the mean of the two middle ones, rounded once."""
    lower = _ranked(bag, partials, lambda count: (count + 1) // 2)
    upper = _ranked(bag, partials, lambda count: count // 2 + 1)
    return [
        None if low is None else _middle(low, high)
        for low, high in zip(lower.to_list(), upper.to_list(), strict=True)
    ]


def _middle(low: float, high: float) -> float:
    exact = (Fraction(low) + Fraction(high)) / 2
    return exact.numerator / exact.denominator + 0.0  # between two doubles: no overflow


def _ranked(bag: Bag, partials: pl.DataFrame, rank: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    entries = bag.entries(partials)
    upto, count = pl.col(COUNT).cum_sum().over(_ROW), pl.col(COUNT).sum().over(_ROW)
    reached = entries.filter(upto >= rank(count))
    return _per_state(partials, reached.group_by(_ROW, maintain_order=True).first())


def listed(bag: Bag, partials: pl.DataFrame, most: int | None = None) -> pl.Series:
    """Return the values of each bag in order, with repeats, up to a limit."""
    entries = bag.entries(partials)
    if bag.counted:
        entries = entries.with_columns(pl.col(VALUE).repeat_by(COUNT)).explode(VALUE)
    values = pl.col(VALUE) if most is None else pl.col(VALUE).head(most)
    return _per_state(partials, entries.group_by(_ROW, maintain_order=True).agg(values))


def distinct(bag: Bag, partials: pl.DataFrame) -> list[int | None]:
    """Return how many entries each bag has; null for none."""
    counts = bag.entries(partials).group_by(_ROW).agg(pl.len().cast(pl.Int64).alias(VALUE))
    return _per_state(partials, counts).to_list()


def estimated(bag: Bag, partials: pl.DataFrame, size: int) -> list[int | None]:
    """Return the distinct count that each bag's hashes estimate; null for none."""
    held = bag.entries(partials).group_by(_ROW).agg(kept=pl.len(), largest=pl.col(VALUE).max())
    counts: list[int | None] = [None] * len(partials)
    for row, kept, largest in held.iter_rows():
        counts[row] = estimated_count(kept, largest, size)
    return counts


def _per_state(partials: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """Expand values by `row` to one per partial state, in order; null where there is none."""
    rows = partials.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias(_ROW))
    return rows.join(found, on=_ROW, how="left", maintain_order="left")[VALUE]
