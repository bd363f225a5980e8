"""Chains: pieces of one key with distances below a gap, computed over columns.

A piece is a set of records that form a chain by themselves, from `at_first` to `at_last`; a single
record is one. Pieces with overlapping spans are one chain, as records of one then lie between
neighbours of the other.

Source: SAMZA-552, "Session window: dynamic window".
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from windowing.engine.columns import AT_FIRST, AT_LAST, CHAIN, GAP, field_column
from windowing.engine.wids import ENDED
from windowing.model import Query
from windowing.model.lengths import INT64_MAX, INT64_MIN


def merged_ends() -> tuple[pl.Expr, pl.Expr]:
    """Return the expressions that merge the pieces' first and last values."""
    return pl.col(AT_FIRST).min(), pl.col(AT_LAST).max()


def with_gap(query: Query, pieces: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with the `gap` of their key."""
    window = query.window
    gap: pl.Expr = pl.lit(window.range_, dtype=pl.Int64)
    if window.gaps:
        known = dict(window.gaps)
        key = pl.col(field_column(query.key[0]))
        gap = key.replace_strict(known, default=window.range_, return_dtype=pl.Int64)
    return pieces.with_columns(gap.alias(GAP))


def end() -> pl.Expr:
    """Return the end of a session whose last record is a piece's, at most `ENDED`."""
    return later(pl.col(AT_LAST), pl.col(GAP))


def later(instant: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Return instants moved by a length, at most `ENDED`."""
    beyond = instant > INT64_MAX - by
    return pl.when(beyond).then(pl.lit(ENDED, dtype=pl.Int64)).otherwise(instant + by)


def chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return pieces in order, with the number of their `chain`.

    Args:
        pieces: with the columns `by`, `at_first`, `at_last` and `gap`.
        by: the columns in which the pieces of one chain are equal.
    """
    ordered = pieces.sort(*by, AT_FIRST)
    reach = pl.col(AT_LAST).cum_max().shift(1)
    ordered = ordered.with_columns((reach.over(by) if by else reach).alias("reach"))
    beyond = pl.col(AT_FIRST) < INT64_MIN + pl.col(GAP)
    from_ = pl.when(beyond).then(pl.lit(INT64_MIN)).otherwise(pl.col(AT_FIRST) - pl.col(GAP))
    begins = pl.col("reach").is_null() | (from_ >= pl.col("reach"))
    return ordered.with_columns(begins.cum_sum().alias(CHAIN)).drop("reach")
