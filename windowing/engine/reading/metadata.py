"""What records have besides their values, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from windowing.engine.columns import field_column
from windowing.engine.reading.rules import ValueRules
from windowing.model.metadata import APPEND, OFFSET, PARTITION, TIMESTAMP, TOPIC

Carried = Mapping[str, "Sequence[Any] | pl.Series"]
"""By name, what raw rows carry besides their values: integers of `$timestamp`, else bytes."""


def metadata_columns(
    offsets: pl.Series, append_us: pl.Series, carried: Carried, rules: ValueRules
) -> Iterator[pl.Series]:
    """Yield the column of each name of metadata that is used; null where rows lack it."""
    topic, partition = rules.lane
    size = len(offsets)
    for name in rules.metadata:
        if name == APPEND:
            found = append_us
        elif name == OFFSET:
            found = offsets
        elif name == TOPIC:
            found = pl.repeat(topic, size, dtype=pl.String, eager=True)
        elif name == PARTITION:
            found = pl.repeat(partition, size, dtype=pl.Int64, eager=True)
        else:
            type_ = pl.Int64 if name == TIMESTAMP else pl.Binary
            there = carried.get(name)
            nothing = pl.repeat(None, size, dtype=type_, eager=True)
            found = nothing if there is None else pl.Series(there, dtype=type_)
            found = found if name == TIMESTAMP else _texts(found)
        yield found.alias(field_column(name))


def _texts(found: pl.Series) -> pl.Series:
    """Return bytes as texts, null where they are no UTF-8."""
    try:
        return found.cast(pl.String)
    except pl.exceptions.ComputeError:
        return pl.Series([_text(one) for one in found], dtype=pl.String)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
