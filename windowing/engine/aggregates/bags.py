"""Bags: partial states that hold entries – values, places, bins, hashes – sorted and merged.

Algebra: a bag is a map from an entry's key to what is kept with it; merging unites two maps, and
where both have a key, adds their counts. With `keep`, only the first so many entries in the order
of the keys survive; what is cut off could never come back, so cutting commutes with merging.
Partial state: one column, a list of structs in the order of the keys; an empty bag is null.
Cost: a merge sorts the entries of all groups at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

COUNT = "#n"
"""How often an entry's key occurred, in bags that count."""


@dataclass(frozen=True)
class Bag:
    """What one kind of bag holds.

    Names of entries' columns begin with `#`, which no name that partial states are merged by does.

    Attributes:
        column: of the partial states.
        entry: one record's entry, as expressions over the lane's records; the keys first.
        present: whether a record has an entry.
        keys: how many of the entry's columns tell entries apart and order them.
        falling: how many of the first keys fall; the others rise.
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
        """The bag of each single record."""
        count = [pl.lit(1, dtype=pl.Int64).alias(COUNT)] if self.counted else []
        one = pl.concat_list(pl.struct(*self.entry, *count))
        return records.select(pl.when(self.present).then(one).alias(self.column)).to_series()

    def merge(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Merge the bags that agree in the columns `by`; groups without entries are left out."""
        entries = _exploded(partials.select(*by, self.column), self.column)
        names = [name for name in entries.columns if name not in by]
        keys = names[: self.keys]
        if self.counted:
            entries = entries.group_by([*by, *keys]).agg(pl.col(COUNT).sum())
        else:
            # Without a count an entry that comes twice says nothing new.
            entries = entries.unique([*by, *keys])
        falling = [number < self.falling for number in range(self.keys)]
        kept = pl.struct(names) if self.keep is None else pl.struct(names).head(self.keep)
        ordered = entries.sort(keys, descending=falling)
        return ordered.group_by(by, maintain_order=True).agg(kept.alias(self.column))

    def entries(self, partials: pl.DataFrame) -> pl.DataFrame:
        """All entries, those of one state together and in order, with `row`, its position."""
        numbered = partials.select(self.column).with_row_index("row")
        return _exploded(numbered, self.column)


def _exploded(partials: pl.DataFrame, column: str) -> pl.DataFrame:
    return partials.filter(pl.col(column).is_not_null()).explode(column).unnest(column)
