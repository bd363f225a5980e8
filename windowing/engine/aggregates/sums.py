"""Sums, means and variances: the partial columns of a field, and what they come to.

With S the sum of n values and Q that of their squares, both exact, the mean is S / n and the
variance (n Q - S^2) / (n (n - 1)); each is one rational number and is rounded once. Nothing
cancels, however large the values are beside their spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine.aggregates.columns import bins_of, state_column
from windowing.engine.aggregates.exact_float import BIN_BITS, LOWEST, to_bins, to_square_bins
from windowing.engine.aggregates.exact_int import (
    Ints,
    join_halves,
    join_limbs,
    limbs_of_square,
    to_halves,
)
from windowing.engine.aggregates.rounding import divided, root

SAMPLE = ("var", "stddev")
POPULATION = ("var_pop", "stddev_pop")
SPREAD = (*SAMPLE, *POPULATION)

_EXACT_DOUBLE = 1 << 53
"""Every integer below this is a double, and so is every number of records: they are far fewer."""


def lift_sums(field: str, kind: str, values: pl.Series, *, squares: bool) -> list[pl.Series]:
    """The columns of each single value: its number, sum and, if asked for, square.

    Raises:
        ValueError: a float that is not finite.
    """
    dense = values.fill_null(0).to_numpy()
    columns = {"n": values.is_not_null().cast(pl.Int64).to_numpy()}
    if kind == "int":
        columns["hi"], columns["lo"] = to_halves(dense)
        if squares:
            columns |= {f"q{i}": limb for i, limb in enumerate(limbs_of_square(dense))}
    else:
        if not np.isfinite(dense).all():
            msg = f"{field} holds a float that is not finite: a reader refuses it as bad_type"
            raise ValueError(msg)
        columns |= {f"b{b:03d}": digits for b, digits in to_bins(dense).items()}
        if squares:
            binned = to_square_bins(dense)
            columns |= {f"s{b:03d}": digits for b, digits in binned.items()}
    return [
        pl.Series(state_column(field, part), column, dtype=pl.Int64)
        for part, column in columns.items()
    ]


@dataclass(frozen=True)
class Sums:
    """The exact sums of one field, a position per partial state.

    Attributes:
        counts: how many values.
        exact: their sums, in units of `2^-shift`; an array where all are known to fit 64 bits.
        squares: the sums of their squares, in units of `2^(-2 shift)`; empty if not asked for.
        shift: 0 for integers.
    """

    counts: pl.Series
    exact: Ints | list[int]
    squares: list[int]
    shift: int

    @classmethod
    def of(cls, field: str, kind: str, partials: pl.DataFrame) -> Sums:
        """Read the columns that `lift_sums` made and merging added up."""
        counts = partials[state_column(field, "n")]
        if kind == "float":
            totals, squares = (_binned(field, tag, partials) for tag in "bs")
            return cls(counts, totals, squares, -LOWEST)
        high, low = (partials[state_column(field, half)].to_numpy() for half in ("hi", "lo"))
        fitting = join_halves(high, low)
        limbs = [state_column(field, f"q{i}") for i in range(4)]
        held = limbs[0] in partials.columns
        squares = join_limbs([partials[name].to_numpy() for name in limbs]) if held else []
        return cls(counts, join_limbs([low, high]) if fitting is None else fitting, squares, 0)

    def each(self) -> Iterator[tuple[int, int]]:
        """Sum and number of values, of any size, one after another."""
        totals = self.exact if isinstance(self.exact, list) else self.exact.tolist()
        return zip(totals, self.counts.to_list(), strict=True)

    def whole(self) -> pl.Series | None:
        """The sums as 64-bit integers, null where there is no value; None: they may not fit."""
        return None if isinstance(self.exact, list) else self._known(pl.Series(self.exact))

    def rounded_sums(self) -> list[float | None]:
        """The sums as doubles."""
        unit = 1 << self.shift
        return [divided(total, unit) if n else None for total, n in self.each()]

    def means(self) -> pl.Series | list[float | None]:
        """The means."""
        if not isinstance(self.exact, list) and abs(self.exact).max(initial=0) < _EXACT_DOUBLE:
            # Both are doubles without rounding, so that their division alone rounds.
            counts = np.maximum(self.counts.to_numpy(), 1)
            return self._known(pl.Series(self.exact / counts + 0.0))
        return [divided(total, n << self.shift) if n else None for total, n in self.each()]

    def _known(self, values: pl.Series) -> pl.Series:
        """The values, null where none was counted."""
        some = self.counts > 0
        if some.all():
            return values
        return values.zip_with(some, pl.Series([None], dtype=values.dtype))

    def spread(self, function: str) -> list[float | None]:
        """Variances or standard deviations; null where there are too few values to have one."""
        finish = root if function.startswith("stddev") else divided
        less = 1 if function in SAMPLE else 0
        return [
            finish(n * square - total * total, n * (n - less) << 2 * self.shift)
            if n > less
            else None
            for (total, n), square in zip(self.each(), self.squares, strict=True)
        ]


def _binned(field: str, tag: str, partials: pl.DataFrame) -> list[int]:
    totals = [0] * len(partials)
    for name, number in bins_of(field, tag, partials.columns).items():
        shift, digits = BIN_BITS * number, partials[name].to_list()
        totals = [t + (d << shift) for t, d in zip(totals, digits, strict=True)]
    return totals
