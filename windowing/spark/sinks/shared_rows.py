"""The rows of families as rows of one table: many queries' at once.

What rows of several queries have in common is converted once, and taken as often as there are
queries: the price of a row is that of a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from windowing.engine.columns import VALUES, WINDOW_ID
from windowing.engine.families.due_rows import MEMBER, overflow_of
from windowing.engine.families.family import Family, Variant
from windowing.engine.wids import Ints

_MARK: Final = pa.list_(pa.string())


@dataclass(frozen=True)
class SharedRows:
    """The rows of a family, for all of its queries.

    Attributes:
        schema: the columns of their table.
    """

    family: Family
    schema: pa.Schema

    def bounds(self, frame: pl.DataFrame) -> tuple[Ints, Ints]:
        """Return start and end of the window of each row."""
        return self.family.bounds(frame[MEMBER].to_numpy(), frame[WINDOW_ID].to_numpy())

    def of_queries(self, frame: pl.DataFrame, common: Mapping[str, pa.Array]) -> Iterator[pa.Table]:
        """Yield the rows of the queries, those together that show the same.

        Args:
            common: their columns that do not depend on the query.
        """
        members = frame[MEMBER].to_numpy()
        for shows, variants in self._alike.items():
            rows, queries = _repeated(members, variants, len(self.family.members))
            if len(rows):
                values = self._values(frame, dict(shows))
                columns = {name: column.take(rows) for name, column in common.items()}
                columns["query"] = queries.cast(pa.string())
                columns["values"] = values.take(rows)
                if "overflow" in self.schema.names:
                    columns["overflow"] = (
                        overflow_of(frame, shows).to_arrow().cast(_MARK).take(rows)
                    )
                yield pa.table([columns[name] for name in self.schema.names], schema=self.schema)

    @cached_property
    def _alike(self) -> dict[tuple[tuple[str, str], ...], list[Variant]]:
        found: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
        for variant in self.family.variants:
            found.setdefault(variant.shows, []).append(variant)
        return found

    def _values(self, frame: pl.DataFrame, shows: Mapping[str, str]) -> pa.Array:
        """Return the column `values`, null where these queries have no such aggregate."""
        own, type_ = frame[VALUES].struct, self.schema.field("values").type
        columns = [
            own.field(shows[part.name]).to_arrow().cast(part.type)
            if part.name in shows
            else pa.nulls(len(frame), part.type)
            for part in type_
        ]
        return pa.StructArray.from_arrays(columns, fields=list(type_))


def _repeated(
    members: Ints, variants: Sequence[Variant], count: int
) -> tuple[pa.Array, pa.DictionaryArray]:
    """Return each row as often as there are queries with its windows, and these queries.

    Args:
        members: of the rows.
        variants: the queries; at most one variant of each member.
    """
    names = pa.array([name for variant in variants for name in variant.names], pa.string())
    sizes, begins = np.zeros(count, np.int64), np.zeros(count, np.int64)
    at = 0
    for variant in variants:
        sizes[variant.member], begins[variant.member] = len(variant.names), at
        at += len(variant.names)
    times = sizes[members]
    rows = np.repeat(np.arange(len(members)), times)
    # Where in the run of copies of its row each one is.
    place = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    queries = begins[members[rows]] + place
    return pa.array(rows), pa.DictionaryArray.from_arrays(queries.astype(np.int32), names)
