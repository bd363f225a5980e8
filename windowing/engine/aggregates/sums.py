"""Sums, means and variances: the partial columns of a field, and their results.

With S the sum of n values and Q that of their squares, both exact, the mean is S / n and the
variance (n Q - S^2) / (n (n - 1)); each is one rational number and is rounded once. There is no
cancellation, however large the values are relative to their spread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.aggregates.exact import (
    BIN_BITS,
    BINS,
    LOWEST,
    SQUARE_BINS,
    WIDE_LIMBS,
    Ints,
    divided,
    half_even,
    join_halves,
    join_limbs,
    limbs_of_decimals,
    limbs_of_square,
    root,
    to_bins,
    to_halves,
    to_square_bins,
    words_of_decimals,
    words_of_limbs,
)
from windowing.engine.columns import state_column
from windowing.engine.storage.decimals import from_integers, from_words
from windowing.model.fields import Aggregate
from windowing.model.functions import NARROW_MAX, SPREAD
from windowing.model.types import PRECISION_MAX, FieldType

_BEYOND: Final = 10**PRECISION_MAX

SAMPLE = ("var", "stddev")
SUMMED = ("sum", "mean", *SPREAD)
"""The functions computed from sums."""
COUNTED = (*SUMMED, "count")
"""Those that need the number of values."""


def wide(type_: FieldType) -> bool:
    """Whether values may not fit 64 bits."""
    return type_.kind == "decimal" and type_.precision > NARROW_MAX


@dataclass(frozen=True)
class TruthColumns:
    """The columns of how many values of a bool are true, false and null.

    Attributes:
        field: the bool.
        condition: of records for which this field is not true, nothing is counted; None: all are.
    """

    field: str
    condition: str | None
    true: str
    false: str
    null: str

    @classmethod
    def of(cls, one: Aggregate) -> TruthColumns:
        """Return the columns of an aggregate; others of the same fields have the same."""
        (field, *where) = one.fields
        columns = (state_column(field, part) for part in ("true", "false", "null"))
        return cls(field, where[0] if where else None, *columns)

    @property
    def names(self) -> tuple[str, str, str]:
        """All of them."""
        return self.true, self.false, self.null

    def lift(self, values: pl.Series, holds: pl.Series | None = None) -> list[pl.Series]:
        """Return the numbers of each single value.

        Args:
            holds: the condition, if there is one.
        """
        columns = [values.fill_null(value=False), (~values).fill_null(value=False)]
        columns.append(values.is_null())
        if holds is not None:
            taken = holds.fill_null(value=False)
            columns = [column & taken for column in columns]
        return [
            column.cast(pl.Int64).alias(name)
            for name, column in zip(self.names, columns, strict=True)
        ]

    def results(self, function: str, partials: pl.DataFrame) -> pl.Series:
        """Return `any` or `all` of each state: null decides nothing, but leaves it open."""
        true, false, null = (pl.col(name) > 0 for name in self.names)
        decides, other = (true, false) if function == "any" else (false, true)
        decided = pl.when(decides).then(pl.lit(function == "any"))
        found = decided.when(~null & other).then(pl.lit(function != "any"))
        return partials.select(found.otherwise(None).cast(pl.Boolean)).to_series()


@dataclass(frozen=True)
class SumColumns:
    """The columns of a field's exact sums.

    Attributes:
        count: the column of the number of values.
        total: the columns of their sum: high and low half, bins by number, or limbs of decimals,
            lowest first; empty if not needed.
        squares: the columns of the sum of squares: limbs, lowest first, or bins; empty if not
            needed.
        binned: whether they are bins, of which a frame has only those in use.
        scale: of decimals, how many digits follow the point.
    """

    field: str
    count: str
    total: tuple[str, ...]
    squares: tuple[str, ...]
    binned: bool
    scale: int = 0

    @classmethod
    def of(cls, field: str, type_: FieldType, functions: Collection[str]) -> SumColumns:
        """Return the columns that some functions of a field need."""
        binned = type_.kind == "float"
        if binned:
            total, squares = _numbered("b", BINS), _numbered("s", SQUARE_BINS)
        else:
            total, squares = ["hi", "lo"], [f"q{i}" for i in range(4)]
        if wide(type_):
            total = [f"d{i}" for i in range(WIDE_LIMBS)]
        summed = not {*SUMMED}.isdisjoint(functions)
        spread = not {*SPREAD}.isdisjoint(functions)
        return cls(
            field,
            state_column(field, "n"),
            tuple(state_column(field, part) for part in total if summed),
            tuple(state_column(field, part) for part in squares if spread),
            binned and summed,
            type_.scale,
        )

    def lift(self, values: pl.Series) -> list[pl.Series]:
        """Return number, sum and square of each single value; of bins, only those in use.

        Raises:
            ValueError: a float is not finite.
        """
        columns = {self.count: values.is_not_null().cast(pl.Int64).to_numpy()}
        if not self.total:
            return [pl.Series(self.count, columns[self.count], dtype=pl.Int64)]
        if isinstance(values.dtype, pl.Decimal):
            decimals = values.fill_null(Decimal(0))
            if len(self.total) == WIDE_LIMBS:
                columns |= dict(zip(self.total, limbs_of_decimals(decimals), strict=True))
                return _series(columns)
            dense: NDArray[Any] = words_of_decimals(decimals)
        else:
            dense = values.fill_null(0).to_numpy()
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
        return _series(columns)


def _series(columns: Mapping[str, Ints]) -> list[pl.Series]:
    return [pl.Series(name, column, dtype=pl.Int64) for name, column in columns.items()]


def _numbered(tag: str, count: int) -> list[str]:
    return [f"{tag}{number:03d}" for number in range(count)]


@dataclass(frozen=True)
class Sums:
    """The exact sums of one field, a position per partial state.

    Attributes:
        counts: the number of values.
        exact: their sums, in units of `1 / unit`: an array if all are known to fit 64 bits, limbs
            (lowest first) of what may be wide.
        squares: the sums of their squares, in units of `1 / unit^2`; empty if not needed.
        unit: 1 for integers.
    """

    counts: pl.Series
    exact: Ints | list[int] | tuple[Ints, ...]
    squares: list[int]
    unit: int

    @classmethod
    def of(cls, columns: SumColumns, partials: pl.DataFrame) -> Sums:
        """Read the sums from merged columns of `lift`."""
        counts = partials[columns.count]
        if columns.binned:
            totals, squares = (_binned(b, partials) for b in (columns.total, columns.squares))
            return cls(counts, totals, squares, 1 << -LOWEST)
        unit = 10**columns.scale
        parts = [partials[name].to_numpy() for name in columns.total]
        if len(parts) == WIDE_LIMBS:
            return cls(counts, tuple(parts), [], unit)
        high, low = parts
        squares = join_limbs([partials[name].to_numpy() for name in columns.squares])
        return cls(counts, join_halves(high, low), squares, unit)

    def each(self) -> Iterator[tuple[int, int]]:
        """Yield the sum and the number of values of each state, as unbounded ints."""
        match self.exact:
            case list() as totals:
                pass
            case tuple() as limbs:
                totals = join_limbs(limbs)
            case array:
                totals = array.tolist()
        return zip(totals, self.counts.to_list(), strict=True)

    def whole(self) -> pl.Series | None:
        """Return the sums as 64-bit integers, null without values; None: they may not fit."""
        if not isinstance(self.exact, np.ndarray):
            return None
        none = pl.Series([None], dtype=pl.Int64)
        return pl.Series(self.exact).zip_with(self.counts > 0, none)

    def rounded_sums(self) -> list[float | None]:
        """Return the sums as doubles."""
        return [divided(total, self.unit) if n else None for total, n in self.each()]

    def means(self) -> list[float | None]:
        """Return the means."""
        return [divided(total, n * self.unit) if n else None for total, n in self.each()]

    def decimals(self, scale: int) -> pl.Series:
        """Return sums of decimals; null without values, and if they have too many digits."""
        if isinstance(self.exact, list):
            return _decimals([total if n else None for total, n in self.each()], scale)
        if isinstance(self.exact, tuple):
            words, fits = words_of_limbs(self.exact)
            return from_words(words, fits & (self.counts > 0).to_numpy(), scale)
        return from_integers(pl.Series(self.exact).set(self.counts == 0, None), scale)

    def decimal_means(self, scale: int) -> pl.Series:
        """Return means of decimals, as `decimals` does; rounded half to even."""
        finer = 10**scale // self.unit
        found = (half_even(total * finer, n) if n else None for total, n in self.each())
        return _decimals(list(found), scale)

    def spread(self, function: str) -> list[float | None]:
        """Return variances or standard deviations; null if there are too few values."""
        finish = root if function.startswith("stddev") else divided
        less = 1 if function in SAMPLE else 0
        return [
            finish(n * square - total * total, n * (n - less) * self.unit**2) if n > less else None
            for (total, n), square in zip(self.each(), self.squares, strict=True)
        ]


def _decimals(unscaled: Sequence[int | None], scale: int) -> pl.Series:
    """Return decimals from integers in units of their last place."""
    known = np.fromiter((n is not None and abs(n) < _BEYOND for n in unscaled), np.bool_)
    joined = b"".join(
        (n if fits and n is not None else 0).to_bytes(16, "little", signed=True)
        for n, fits in zip(unscaled, known.tolist(), strict=True)
    )
    return from_words(np.frombuffer(joined, np.int64).reshape(-1, 2), known, scale)


def _binned(bins: Sequence[str], partials: pl.DataFrame) -> list[int]:
    totals, used = [0] * len(partials), {*partials.columns}
    for number, name in enumerate(bins):
        if name in used:
            shift, digits = BIN_BITS * number, partials[name].to_list()
            totals = [t + (d << shift) for t, d in zip(totals, digits, strict=True)]
    return totals
