"""The tuples of hosted operators: records, by those of their columns that operators read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from windowing.engine.columns import OFFSET, PARTITION, field_of

ROW: Final = "row"
"""The attribute by which a tuple names its record: a row of the step's table of records."""

Place = tuple[int, int]
"""What names a record forever: its lane's partition, and its offset."""

Scalar = int | float | str | None

# The garbage collector does not visit dicts of scalars, which there are many of.
RecordTuple = dict[str, Any]


def tuples(records: pl.DataFrame, columns: Sequence[str], first: int) -> Iterator[RecordTuple]:
    """Return records as tuples of operators.

    Args:
        records: the records.
        columns: those that operators read.
        first: the row of the first record in the step's table.
    """
    numbered = records.select(pl.int_range(first, first + pl.len()).alias(ROW), *columns)
    return numbered.iter_rows(named=True)


def places(records: pl.DataFrame) -> list[Place]:
    """Return the places of records."""
    return list(zip(records[PARTITION].to_list(), records[OFFSET].to_list(), strict=True))


def shown(row: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a tuple's fields by name, as users' operators see them."""
    fields = ((field_of(column), value) for column, value in row.items())
    return {field: value for field, value in fields if field is not None}
