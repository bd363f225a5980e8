"""Sums, means and variances: the partial columns of a field, and their results.

With S the sum of n values and Q that of their squares, both exact, the mean is S / n and the
variance (n Q - S^2) / (n (n - 1)); each is one rational number and is rounded once. There is no
cancellation, however large the values are relative to their spread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine.aggregates.exact import (
    BIN_BITS,
    BINS,
    LOWEST,
    SQUARE_BINS,
    Ints,
    divided,
    join_halves,
    join_limbs,
    limbs_of_square,
    root,
    to_bins,
    to_halves,
    to_square_bins,
)
from windowing.engine.columns import state_column

SAMPLE = ("var", "stddev")
POPULATION = ("var_pop", "stddev_pop")
SPREAD = (*SAMPLE, *POPULATION)
SUMMED = ("sum", "mean", *SPREAD)
"""The functions computed from sums."""


@dataclass(frozen=True)
class SumColumns:
    """The columns of a field's exact sums.

    Attributes:
        count: the column of the number of values.
        total: the columns of their sum: high and low half, or bins by number.
        squares: the columns of the sum of squares: limbs, lowest first, or bins; empty if not
            needed.
        binned: whether they are bins, of which a frame has only those in use.
    """

    field: str
    count: str
    total: tuple[str, ...]
    squares: tuple[str, ...]
    binned: bool

    @classmethod
    def of(cls, field: str, kind: str, functions: Collection[str]) -> SumColumns:
        """Return the columns that some functions of a field need."""
        binned = kind == "float"
        if binned:
            total, squares = _numbered("b", BINS), _numbered("s", SQUARE_BINS)
        else:
            total, squares = ["hi", "lo"], [f"q{i}" for i in range(4)]
        spread = not {*SPREAD}.isdisjoint(functions)
        return cls(
            field,
            state_column(field, "n"),
            tuple(state_column(field, part) for part in total),
            tuple(state_column(field, part) for part in squares if spread),
            binned,
        )

    def lift(self, values: pl.Series) -> list[pl.Series]:
        """Return number, sum and square of each single value; of bins, only those in use.

        Raises:
            ValueError: a float is not finite.
        """
        dense = values.fill_null(0).to_numpy()
        columns = {self.count: values.is_not_null().cast(pl.Int64).to_numpy()}
        if self.binned:
            if not np.isfinite(dense).all():
                msg = (
                    f"{self.field} holds a float that is not finite: a reader refuses it as "
                    "bad_type"
                )
                raise ValueError(msg)
            columns |= {self.total[b]: digits for b, digits in to_bins(dense).items()}
            if self.squares:
                columns |= {self.squares[b]: digits for b, digits in to_square_bins(dense).items()}
        else:
            columns |= dict(zip(self.total, to_halves(dense), strict=True))
            if self.squares:
                columns |= dict(zip(self.squares, limbs_of_square(dense), strict=True))
        return [pl.Series(name, column, dtype=pl.Int64) for name, column in columns.items()]


def _numbered(tag: str, count: int) -> list[str]:
    return [f"{tag}{number:03d}" for number in range(count)]


@dataclass(frozen=True)
class Sums:
    """The exact sums of one field, a position per partial state.

    Attributes:
        counts: the number of values.
        exact: their sums, in units of `2^-shift`; an array if all are known to fit 64 bits.
        squares: the sums of their squares, in units of `2^(-2 shift)`; empty if not needed.
        shift: 0 for integers.
    """

    counts: pl.Series
    exact: Ints | list[int]
    squares: list[int]
    shift: int

    @classmethod
    def of(cls, columns: SumColumns, partials: pl.DataFrame) -> Sums:
        """Read the sums from merged columns of `lift`."""
        counts = partials[columns.count]
        if columns.binned:
            totals, squares = (_binned(b, partials) for b in (columns.total, columns.squares))
            return cls(counts, totals, squares, -LOWEST)
        high, low = (partials[half].to_numpy() for half in columns.total)
        squares = join_limbs([partials[name].to_numpy() for name in columns.squares])
        return cls(counts, join_halves(high, low), squares, 0)

    def each(self) -> Iterator[tuple[int, int]]:
        """Yield the sum and the number of values of each state, as unbounded ints."""
        totals = self.exact if isinstance(self.exact, list) else self.exact.tolist()
        return zip(totals, self.counts.to_list(), strict=True)

    def whole(self) -> pl.Series | None:
        """Return the sums as 64-bit integers, null without values; None: they may not fit."""
        if isinstance(self.exact, list):
            return None
        none = pl.Series([None], dtype=pl.Int64)
        return pl.Series(self.exact).zip_with(self.counts > 0, none)

    def rounded_sums(self) -> list[float | None]:
        """Return the sums as doubles."""
        unit = 1 << self.shift
        return [divided(total, unit) if n else None for total, n in self.each()]

    def means(self) -> list[float | None]:
        """Return the means."""
        return [divided(total, n << self.shift) if n else None for total, n in self.each()]

    def spread(self, function: str) -> list[float | None]:
        """Return variances or standard deviations; null if there are too few values."""
        finish = root if function.startswith("stddev") else divided
        less = 1 if function in SAMPLE else 0
        return [
            finish(n * square - total * total, n * (n - less) << 2 * self.shift)
            if n > less
            else None
            for (total, n), square in zip(self.each(), self.squares, strict=True)
        ]


def _binned(bins: Sequence[str], partials: pl.DataFrame) -> list[int]:
    totals, used = [0] * len(partials), {*partials.columns}
    for number, name in enumerate(bins):
        if name in used:
            shift, digits = BIN_BITS * number, partials[name].to_list()
            totals = [t + (d << shift) for t, d in zip(totals, digits, strict=True)]
    return totals
