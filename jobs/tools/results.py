"""Results for people and tools: flat rows of one run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from windowing.files.table_rows import rows_in
from windowing.files.whole_files import whole_file
from windowing.model.query import Flow
from windowing.runtime.latest import flat, latest

_BESIDES = ("run", "query", "offsets", "batch_id", "lag_us")
"""Columns for programs."""
_INSTANT = "%Y-%m-%dT%H:%M:%S%.6fZ"


class ResultsError(RuntimeError):
    """Rows that cannot be read, or not written as requested."""

    exit_code = 2


def of_run(table: Path, run: str, query: Flow, *, history: bool = False) -> pl.DataFrame:
    """Read the rows of one run, flat, as in `windowing.runtime.latest`.

    Args:
        table: folder of the table that has the query's rows, and perhaps those of others.
        history: whether to return every revision, not only the newest.

    Raises:
        ResultsError: there is no such table.
        NoLatest: the query has no newest rows.
    """
    try:
        found = rows_in(DeltaTable(str(table)), run=run)
    except (DeltaError, OSError) as error:
        msg = f"{table} cannot be read as a Delta table ({error}): has the job run?"
        raise ResultsError(msg) from None
    rows = pl.DataFrame(pl.from_arrow(found)).filter(pl.col("query") == query.name)
    return flat(rows, query) if history else latest(rows, query)


def lines(rows: pl.DataFrame) -> Iterator[str]:
    """Format rows as lines of JSON, with instants as ISO text in UTC."""
    for row in _spelled(rows).iter_rows(named=True):
        yield json.dumps({name: _json(value) for name, value in row.items()}, ensure_ascii=False)


def columns_of(rows: pl.DataFrame) -> dict[str, list[str]]:
    """Return what people read of rows, as text by column: window, key, values, revision."""
    instants = [name for name, type_ in rows.schema.items() if type_ == pl.Datetime]
    shown = _spelled(rows.drop(*_BESIDES, strict=False)).with_columns(
        # Windows mostly begin on whole seconds.
        pl.col(name).str.replace(r"\.0{6}Z$", "Z")
        for name in instants
    )
    return {name: [_cell(value) for value in shown[name].to_list()] for name in shown.columns}


def _cell(value: object) -> str:
    if value is None:
        return "–"
    plain = _json(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def format_of(path: Path) -> str:
    """Return the format of a file's suffix.

    Raises:
        ResultsError: we do not write such files.
    """
    if path.suffix not in _WRITERS:
        msg = f"--output {path}: we write {', '.join(_WRITERS)}: name a file that ends so"
        raise ResultsError(msg)
    return path.suffix


def write(path: Path, rows: pl.DataFrame) -> None:
    """Write rows in the format of the file's suffix; the file appears complete or not at all.

    Raises:
        ResultsError: another suffix.
        WriteError: it cannot be written.
    """
    make = _WRITERS[format_of(path)]
    with whole_file(path) as file:
        make(rows, file)


def _csv(rows: pl.DataFrame, file: Any) -> None:
    """Convert lists to JSON, since CSV has no lists."""
    nested = [name for name, type_ in rows.schema.items() if type_.is_nested()]
    texts = [
        pl.Series(name, [_text(value) for value in rows[name].to_list()], dtype=pl.String)
        for name in nested
    ]
    _spelled(rows).with_columns(texts).write_csv(file)


def _jsonl(rows: pl.DataFrame, file: Any) -> None:
    file.writelines(line.encode() + b"\n" for line in lines(rows))


_WRITERS: dict[str, Callable[[pl.DataFrame, Any], object]] = {
    ".parquet": lambda rows, file: rows.write_parquet(file),
    ".csv": _csv,
    ".jsonl": _jsonl,
}


def _spelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert instants to text: Python's end with the year 9999, but windows need not."""
    instants = [name for name, type_ in rows.schema.items() if type_ == pl.Datetime]
    return rows.with_columns(pl.col(name).dt.strftime(_INSTANT) for name in instants)


def _text(value: object) -> str | None:
    return None if value is None else json.dumps(_json(value), ensure_ascii=False)


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(part) for part in value]
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date) else value
