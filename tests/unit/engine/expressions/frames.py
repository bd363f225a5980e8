"""Frames of records, with the columns that the engine gives to fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from windowing.engine.columns import field_column
from windowing.model.types import PRECISION_MAX, FieldType

_DTYPES = {"int": pl.Int64, "timestamp": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}


def dtype_of(kind: FieldType) -> pl.DataType | type[pl.DataType]:
    if kind.kind == "decimal":
        return pl.Decimal(PRECISION_MAX, kind.scale)
    return _DTYPES.get(kind.kind, pl.String)


def frame_of(types: Mapping[str, FieldType], records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    columns = [
        pl.Series(field_column(name), [record[name] for record in records], dtype=dtype_of(kind))
        for name, kind in types.items()
    ]
    return pl.DataFrame([pl.Series("row", range(len(records))), *columns])


def pieces(frame: pl.DataFrame, ends: Iterable[int]) -> pl.DataFrame:
    """The same rows, but those in the middle of a longer frame, and its columns in chunks."""
    parts, begin = list[pl.DataFrame](), 0
    for end in [*ends, frame.height]:
        part = frame.slice(begin, end - begin)
        parts.append(pl.concat([part, part, part]).slice(part.height, part.height))
        begin = end
    return pl.concat(parts, rechunk=False)
