"""Chains: pieces of one key with distances below a gap, computed over columns.

A piece is a set of records that form a chain by themselves, from `at_first` to `at_last`; a single
record is one. Pieces with overlapping spans are one chain, as records of one then lie between
neighbours of the other.

Source: SAMZA-552, "Session window: dynamic window".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.aggregates.schema import Role
from windowing.engine.columns import AT_FIRST, AT_LAST, CHAIN, GAP, field_column
from windowing.engine.storage.groups import Groups
from windowing.engine.wids import ENDED, Ints
from windowing.model import Query
from windowing.model.lengths import INT64_MAX, INT64_MIN

SPAN = {AT_FIRST: Role.MIN, AT_LAST: Role.MAX}
"""How the pieces' first and last values merge."""


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
    groups = Groups.by(pieces, by)
    order = groups.ordered_by(pieces[AT_FIRST].to_numpy())
    ordered, group = pieces[order], groups.number[order]
    first, gap = ordered[AT_FIRST].to_numpy(), ordered[GAP].to_numpy()
    from_ = np.where(first < INT64_MIN + gap, INT64_MIN, first - gap)
    begins = np.ones(len(ordered), dtype=bool)
    begins[1:] = (np.diff(group) != 0) | (from_[1:] >= _reach(group, ordered[AT_LAST])[:-1])
    return ordered.with_columns(pl.Series(CHAIN, np.cumsum(begins)))


def _reach(group: Ints, last: pl.Series) -> Ints:
    """Return the largest value of each group so far."""
    values = last.to_numpy()
    if ((np.diff(values) >= 0) | (np.diff(group) != 0)).all():
        # As of single records.
        return values
    numbered = pl.DataFrame([pl.Series(CHAIN, group), last])
    return numbered.select(pl.col(AT_LAST).cum_max().over(CHAIN)).to_series().to_numpy()
