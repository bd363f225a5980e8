"""Chains: pieces of one key whose distances are below a gap, a column at a time.

A piece is a run of records that are a chain by themselves, from `at_first` to `at_last`; a single
record is one. Two pieces whose spans overlap are one chain, since records of the one then lie
between neighbours of the other.

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
    """What merging pieces makes of their first and last values."""
    return pl.col(AT_FIRST).min(), pl.col(AT_LAST).max()


def with_gap(query: Query, pieces: pl.DataFrame) -> pl.DataFrame:
    """Pieces with the `gap` of their key."""
    window = query.window
    gap: pl.Expr = pl.lit(window.range_, dtype=pl.Int64)
    if window.gaps:
        known = dict(window.gaps)
        key = pl.col(field_column(query.key[0]))
        gap = key.replace_strict(known, default=window.range_, return_dtype=pl.Int64)
    return pieces.with_columns(gap.alias(GAP))


def end() -> pl.Expr:
    """Where a session ends whose last record is a piece's, at most `ENDED`."""
    return later(pl.col(AT_LAST), pl.col(GAP))


def later(instant: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Instants, so much later, at most `ENDED`."""
    beyond = instant > INT64_MAX - by
    return pl.when(beyond).then(pl.lit(ENDED, dtype=pl.Int64)).otherwise(instant + by)


def chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Pieces in order, with the number of their `chain`.

    Args:
        pieces: with the columns `by`, `at_first`, `at_last` and `gap`.
        by: what the pieces of one chain agree in.
    """
    ordered = pieces.sort(*by, AT_FIRST)
    reach = pl.col(AT_LAST).cum_max().shift(1)
    ordered = ordered.with_columns((reach.over(by) if by else reach).alias("reach"))
    beyond = pl.col(AT_FIRST) < INT64_MIN + pl.col(GAP)
    from_ = pl.when(beyond).then(pl.lit(INT64_MIN)).otherwise(pl.col(AT_FIRST) - pl.col(GAP))
    begins = pl.col("reach").is_null() | (from_ >= pl.col("reach"))
    return ordered.with_columns(begins.cum_sum().alias(CHAIN)).drop("reach")
