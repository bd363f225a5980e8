"""Defects in sums that are kept in halves, in their means, and in slices that are rolled up."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chaos.planted_bugs.conditions import computing, overlapping, sliding, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.aggregates.exact import Ints, divided
from windowing.engine.aggregates.schema import Role, StateColumn
from windowing.engine.aggregates.sums import Sums
from windowing.engine.tuning import tuning
from windowing.engine.windows.roll_up import _Cells, _Runs, _Windows

_TO, _JOIN = (
    "windowing.engine.aggregates.sums:to_halves",
    "windowing.engine.aggregates.sums:join_halves",
)
_SUMMING = some_query(computing(("sum", "mean"), "int"))
_ROLLED = some_query(sliding, overlapping)
_SLIDING = Wish(classes=("sliding", "keyed sliding"), refusals=False)
"""Windows that are rolled up from slices."""

NARROW = {"half_bits": 16}
"""Values and sums of few digits have a higher half, too."""

ROLL_UP = {"compiled_from_rows": 0, "rolled_cells_per_listed": 1 << 20}
"""Slices are rolled up wherever they can be."""


planted_in_narrow_sums = partial(planted, shows_in=_SUMMING, tuning=NARROW)


# The carry of a negative lower half is lost. How one gets it: halves without a sign, as in every
# book, whose lower one is then made small enough to be nothing.
@planted_in_narrow_sums("carry_of_the_lower_half", "deterministic, no error", at=_TO)
def without_carry(values: Ints) -> tuple[Ints, Ints]:
    bits = tuning().half_bits
    sign, mask = np.int64(1 << (bits - 1)), np.int64((1 << bits) - 1)
    if int(values.min(initial=0)) >= -sign and int(values.max(initial=0)) < sign:
        return np.zeros_like(values), values
    return values >> bits, ((values & mask) ^ sign) - sign


# Halves that are put together by their bits. How one gets it: `|` is `+` for halves that do not
# overlap, and a lower half with a sign does.
@planted_in_narrow_sums("halves_joined_by_or", "deterministic", at=_JOIN)
def joined_by_or(high: Ints, low: Ints) -> Ints:
    return (high << tuning().half_bits) | low


# Sums without a higher half if it is none in the first row. How one gets it: "what is small has no
# higher half", asked of one value.
@planted_in_narrow_sums("higher_half_of_the_first", "deterministic", at=_JOIN)
def by_the_first(high: Ints, low: Ints) -> Ints:
    return low if len(high) and not high[0] else (high << tuning().half_bits) + low


# A lower half of -1 has no carry. How one gets it: `<= -1` is written for `< 0`, and then "mended".
@planted_in_narrow_sums("carry_of_minus_one", "deterministic, no error", at=_TO)
def without_that_of_minus_one(values: Ints) -> tuple[Ints, Ints]:
    bits = tuning().half_bits
    sign, mask = np.int64(1 << (bits - 1)), np.int64((1 << bits) - 1)
    low = ((values & mask) ^ sign) - sign
    return (values >> bits) + (low < -1), low


# Means of sums that are no doubles, divided as if they were. How one gets it: the mean is a double,
# too.
@planted(
    "mean_of_a_rounded_sum",
    "deterministic",
    at="windowing.engine.aggregates.sums:Sums.means",
    shows_in=some_query(computing(("mean",), "int")),
)
def of_a_rounded_sum(sums: Sums) -> list[float | None]:
    if sums.unit > 1:
        return _means(sums)
    return [float(total) / n if n else None for total, n in sums.each()]


_means = Sums.means


# A result that is so small that it is zero keeps its sign. How one gets it: inputs have one zero,
# and so "must" results.
@planted(
    "zero_of_a_small_mean_has_a_sign",
    "deterministic",
    at="windowing.engine.aggregates.sums:divided",
    shows_in=some_query(computing(("mean",), "float")),
)
def with_its_sign(numerator: int, denominator: int) -> float:
    found = divided(numerator, denominator)
    return -found if found == 0 and numerator < 0 else found


planted_in_roll_up = partial(planted, tuning=ROLL_UP, wish=_SLIDING)


# A run of windows that ends where a block does reaches one window too far. How one gets it: a last
# window and a number of windows look alike.
@planted_in_roll_up(
    "rolled_one_window_too_many",
    "deterministic, no error, exactly once, closing",
    at="windowing.engine.windows.roll_up:_in_blocks",
    shows_in=_ROLLED,
)
def one_too_many(row: Ints, group: Ints, windows: tuple[Ints, Ints], length: int) -> _Runs:
    first, last = windows
    begin = first // length * length
    here = _Runs(row, group, begin, first - begin, np.minimum(last - begin, length - 1))
    beyond = last >= begin + length
    end = begin + length
    there = _Runs(row, group, end, np.zeros_like(first), last - end + 1).where(beyond)
    there.last[:] = np.minimum(there.last, length - 1)
    pairs = ((getattr(one, field.name) for one in (here, there)) for field in fields(here))
    return _Runs(*map(np.concatenate, map(list, pairs)))


# Runs that continue into just one window of the next block are cut. How one gets it: `>` for `>=`.
@planted_in_roll_up(
    "rolled_without_the_next_block",
    "deterministic, no error, exactly once, closing",
    at="windowing.engine.windows.roll_up:_in_blocks",
    shows_in=_ROLLED,
)
def cut_where_a_block_ends(
    row: Ints, group: Ints, windows: tuple[Ints, Ints], length: int
) -> _Runs:
    first, last = windows
    begin = first // length * length
    here = _Runs(row, group, begin, first - begin, np.minimum(last - begin, length - 1))
    beyond = last > begin + length
    end = begin + length
    there = _Runs(row, group, end, np.zeros_like(first), last - end).where(beyond)
    pairs = ((getattr(one, field.name) for one in (here, there)) for field in fields(here))
    return _Runs(*map(np.concatenate, map(list, pairs)))


# Minima and maxima of windows that hold null only: the number that changes none. How one gets it:
# nulls are looked for in the first column of the states.
@planted_in_roll_up(
    "rolled_null_is_a_number",
    "deterministic, no error",
    at="windowing.engine.windows.roll_up:_Cells.of",
    shows_in=some_query(sliding, overlapping, computing(("min", "max"))),
)
def never_null(cells: _Cells, column: StateColumn, values: pl.Series) -> pl.Series:
    if column.role in (Role.SUM, Role.BIN):
        return pl.Series(column.name, cells._merged(values.fill_null(0).to_numpy(), 0, 0))
    return pl.Series(column.name, cells.ends(values, largest=column.role is Role.MAX))


# Cells of the last block that are no windows are taken for some. How one gets it: all blocks are
# whole in a test.
@planted_in_roll_up(
    "rolled_block_is_whole",
    "deterministic, no error, closing, exactly once",
    at="windowing.engine.windows.roll_up:_Windows.among",
    shows_in=_ROLLED,
)
def of_whole_blocks(windows: _Windows, cells: Ints) -> Ints:
    del windows
    return cells


_merge = _Cells._merged


# Sums whose first slice is zero are taken for zero. How one gets it: most higher halves are zero,
# and one of them is asked.
@planted_in_roll_up(
    "rolled_zero_by_the_first",
    "deterministic",
    at="windowing.engine.windows.roll_up:_Cells._merged",
    shows_in=some_query(sliding, overlapping, computing(("sum",))),
)
def zero_by_the_first(cells: _Cells, values: NDArray[Any], how: int, rest: Any) -> NDArray[Any]:
    if how == 0 and len(values) and not values[0]:
        return np.full(cells._size, rest, dtype=values.dtype)
    return _merge(cells, values, how, rest)
