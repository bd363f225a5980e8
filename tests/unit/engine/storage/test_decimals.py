"""Decimals as words: the integers of Python, whatever their length."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from windowing.engine.aggregates.exact import limbs_of_decimals, words_of_limbs
from windowing.engine.storage.decimals import from_integers, from_words, integers, words
from windowing.model.lengths import INT64_MAX, INT64_MIN

MOST = 10**38 - 1
EDGES = (0, 1, 2**32, 2**63, 2**64, 2**96, MOST)
UNITS = st.integers(-MOST, MOST) | st.sampled_from([sign * n for n in EDGES for sign in (1, -1)])


def column(units: list[int | None], scale: int) -> pl.Series:
    """Return a column of decimals, by way of their digits."""
    texts = [None if n is None else f"{n}E-{scale}" for n in units]
    found = [None if text is None else Decimal(text) for text in texts]
    return pl.Series("d", found, dtype=pl.Decimal(38, scale))


@given(st.lists(UNITS, min_size=1, max_size=5), st.sampled_from([0, 2, 38]))
def test_words_are_the_decimals_that_they_were(units: list[int], scale: int) -> None:
    values = column([*units], scale)
    low, high = words(values).T
    joined = [
        h * 2**64 + w for h, w in zip(high.tolist(), low.view(np.uint64).tolist(), strict=True)
    ]
    assert joined == units
    assert (
        from_words(words(values), np.ones(len(units), np.bool_), scale).to_list()
        == values.to_list()
    )


@given(st.lists(UNITS, min_size=1, max_size=5))
@example([MOST, 1])
@example([-MOST, -1])
@example([MOST] * 4)
@example([-MOST] * 4)
def test_sums_of_limbs_are_exact_or_not_known(units: list[int]) -> None:
    """A sum has 128 bits or is not known; one of 39 digits is no decimal."""
    sums = [limb.sum(keepdims=True) for limb in limbs_of_decimals(column([*units], 0))]
    joined, fits = words_of_limbs(sums)
    assert fits.tolist() == [-(2**127) <= sum(units) < 2**127]
    found = from_words(joined, fits, 0).to_list()
    assert found == [Decimal(sum(units)) if abs(sum(units)) <= MOST else None]


@given(st.lists(st.none() | st.integers(INT64_MIN, INT64_MAX), max_size=5))
@example([INT64_MIN, None])
def test_short_decimals_are_integers(units: list[int | None]) -> None:
    found = integers(column(units, 2))
    assert found is not None
    assert found.to_list() == units
    assert from_integers(found, 2).to_list() == column(units, 2).to_list()


@given(st.lists(st.none() | st.integers(INT64_MIN, INT64_MAX), max_size=3))
def test_long_ones_are_none(units: list[int | None]) -> None:
    assert integers(column([*units, INT64_MAX + 1], 2)) is None
    assert integers(column([*units, INT64_MIN - 1], 2)) is None
