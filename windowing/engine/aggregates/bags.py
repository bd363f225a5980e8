"""Bags: partial states that hold sorted entries: values, places, bins or hashes.

Algebra: a bag is a map from an entry's key to its payload; merging unites two maps, and adds the
counts of common keys. With `keep`, only the first N entries in key order survive; a truncated entry
could never return, so truncating commutes with merging. Partial state: one column, a list of
structs in the order of the keys; an empty bag is null.
Cost: a merge sorts the entries of all groups at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

COUNT = "#n"
"""The number of occurrences of an entry's key, in bags that count."""


@dataclass(frozen=True)
class Bag:
    """The layout of one kind of bag.

    Names of entries' columns begin with `#`, unlike the columns that states are merged by.

    Attributes:
        column: of the partial states.
        entry: one record's entry, as expressions over the lane's records; the keys first.
        present: whether a record has an entry.
        keys: how many of the entry's columns identify and order entries.
        falling: how many of the first keys are in descending order; the others ascend.
        counted: equal keys are counted in `COUNT`.
        keep: how many entries survive; None: all.
    """

    column: str
    entry: tuple[pl.Expr, ...]
    present: pl.Expr
    keys: int = 1
    falling: int = 0
    counted: bool = False
    keep: int | None = None

    def lift(self, records: pl.DataFrame) -> pl.Series:
        """Return the bag of each single record."""
        count = [pl.lit(1, dtype=pl.Int64).alias(COUNT)] if self.counted else []
        one = pl.concat_list(pl.struct(*self.entry, *count))
        return records.select(pl.when(self.present).then(one).alias(self.column)).to_series()

    def merge(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Merge the bags with equal columns `by`; groups without entries are omitted."""
        entries = _exploded(partials.select(*by, self.column), self.column)
        names = [name for name in entries.columns if name not in by]
        keys = names[: self.keys]
        if self.counted:
            entries = entries.group_by([*by, *keys]).agg(pl.col(COUNT).sum())
        else:
            # Without a count, a repeated entry adds nothing.
            entries = entries.unique([*by, *keys])
        falling = [number < self.falling for number in range(self.keys)]
        kept = pl.struct(names) if self.keep is None else pl.struct(names).head(self.keep)
        ordered = entries.sort(keys, descending=falling)
        return ordered.group_by(by, maintain_order=True).agg(kept.alias(self.column))

    def entries(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Return all entries, grouped by state and in order, with `row`, the state's position."""
        numbered = partials.select(self.column).with_row_index("row")
        return _exploded(numbered, self.column)


def _exploded(partials: pl.DataFrame, column: str) -> pl.DataFrame:
    return partials.filter(pl.col(column).is_not_null()).explode(column).unnest(column)
