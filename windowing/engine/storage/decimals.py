"""Decimals in columns, 128 bits each: to and from integers in units of their last place."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from windowing.model.types import PRECISION_MAX

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_BEYOND: Final = 10**PRECISION_MAX


def words(values: pl.Series) -> Ints:
    """Return the low and the high 64 bits of each decimal; the low ones as if they had a sign."""
    array = values.to_arrow()
    _, found = array.buffers()
    return np.frombuffer(found, np.int64).reshape(-1, 2)[array.offset :][: len(values)]


def from_words(found: Ints, known: Flags, scale: int) -> pl.Series:
    """Return decimals from what `words` gives; null where not known, or beyond all decimals."""
    known = known & _within(found)
    bits = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    shown = found if bits is None else np.where(known[:, None], found, 0)
    type_ = pa.decimal128(PRECISION_MAX, scale)
    return pl.Series(
        pa.Array.from_buffers(type_, len(known), [bits, pa.py_buffer(np.ascontiguousarray(shown))])
    )


def integers(values: pl.Series) -> pl.Series | None:
    """Return decimals as integers, with their nulls; None: some do not fit 64 bits."""
    low, high = words(values).T
    known = values.is_not_null()
    if not np.array_equal(np.where(known.to_numpy(), high, low >> 63), low >> 63):
        return None
    found = pl.Series(values.name, low, dtype=pl.Int64)
    return (
        found.zip_with(known, pl.Series([None], dtype=pl.Int64)) if values.null_count() else found
    )


def from_integers(values: pl.Series, scale: int) -> pl.Series:
    """Return what `integers` was given."""
    known = values.is_not_null().to_numpy()
    low = values.fill_null(0).to_numpy()
    return from_words(np.stack([low, low >> 63], axis=1), known, scale).alias(values.name)


def _within(found: Ints) -> Flags:
    """Return which integers have no more digits than a decimal."""
    low, high = found[:, 0].view(np.uint64), found[:, 1]
    most, least = divmod(_BEYOND, 1 << 64), divmod(-_BEYOND, 1 << 64)
    less = (high < most[0]) | ((high == most[0]) & (low < np.uint64(most[1])))
    more = (high > least[0]) | ((high == least[0]) & (low > np.uint64(least[1])))
    within: Flags = less & more
    return within
