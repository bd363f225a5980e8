"""Read the windows that another engine wrote: Parquet, Delta, JSON lines or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import polars as pl
from deltalake import DeltaTable

from chaos.audit.job import AuditError, Job
from windowing.files.table_rows import rows_in
from windowing.model.rows import Key, Value

_STARTS = ("window_start", "start", "window.start")
_PARQUET = b"PAR1"

Written = dict[tuple[int, Key], list[dict[str, Value]]]
"""The values of each row, in the order of the output, by start of the window and key."""


def read_written(path: Path, job: Job, start: str | None = None) -> Written:
    """Read an output.

    Args:
        path: a file, a folder of files of Parquet or JSON lines, or a Delta table. What the file
            sink of Spark or Flink has not committed is left out.
        job: the job that wrote it; columns are named as its key fields and aggregates.
        start: the column of the windows' starts; None: one of the usual names. Integers are in the
            unit of the event time.

    Raises:
        AuditError: it cannot be read, or lacks a column.
    """
    try:
        frame = _flat(_frame(path))
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        msg = f"--output {path} cannot be read: {error}"
        raise AuditError(msg) from None
    names = [*job.query.key, *(spec.name for spec in job.query.aggregates)]
    found = start or next((name for name in _STARTS if name in frame.columns), _STARTS[0])
    if lacking := [name for name in (found, *names) if name not in frame.columns]:
        msg = (
            f"--output {path} has no column {lacking[0]!r} (it has {', '.join(frame.columns)}): "
            "name key fields and aggregates in the file as the output does, and the windows' "
            "start by --start COLUMN"
        )
        raise AuditError(msg)
    starts_us = _instants(frame[found], job).to_list()
    written: Written = {}
    for start_us, row in zip(starts_us, frame.select(names).iter_rows(named=True), strict=True):
        key = tuple(row.pop(name) for name in job.query.key)
        written.setdefault((start_us, key), []).append(row)
    return written


def _frame(path: Path) -> pl.DataFrame:
    if (path / "_delta_log").is_dir():
        return pl.DataFrame(rows_in(DeltaTable(str(path))))
    if path.is_dir():
        return pl.concat(map(_part, _committed(path)), how="vertical_relaxed")
    match path.suffix:
        case ".jsonl" | ".json" | ".ndjson":
            return pl.read_ndjson(path, infer_schema_length=None)
        case ".csv":
            return pl.read_csv(path, infer_schema_length=None)
    return pl.read_parquet(path)


def _part(file: Path) -> pl.DataFrame:
    """Read a file of a folder: Parquet by its first bytes (Flink gives it no suffix), or JSON."""
    with file.open("rb") as opened:
        is_parquet = opened.read(len(_PARQUET)) == _PARQUET
    return pl.read_parquet(file) if is_parquet else pl.read_ndjson(file, infer_schema_length=None)


def _committed(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder; of a stream of Spark's, those that its log names.

    Flink hides what it has not committed.
    """
    log = folder / "_spark_metadata"
    if not log.is_dir():
        for file in sorted(folder.rglob("*")):
            hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
            if file.is_file() and not hidden and file.stat().st_size:
                yield file
        return
    named = {}
    for entry in sorted(log.iterdir(), key=_batch):
        if not entry.name.startswith("."):
            for line in entry.read_text(encoding="utf-8").splitlines()[1:]:
                change = json.loads(line)
                named[change["path"]] = change["action"]
    for place, action in named.items():
        if action == "add":
            yield Path(unquote(urlsplit(place).path))


def _batch(entry: Path) -> tuple[int, str]:
    digits = entry.stem.lstrip(".")
    return (int(digits) if digits.isdigit() else -1, entry.name)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Name the fields of structs as `window.start`."""
    columns: list[pl.Series] = []
    for column in frame.iter_columns():
        if isinstance(column.dtype, pl.Struct):
            fields = column.struct.unnest().iter_columns()
            columns += [field.rename(f"{column.name}.{field.name}") for field in fields]
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def _instants(column: pl.Series, job: Job) -> pl.Series:
    """Return instants in microseconds.

    Raises:
        AuditError: they are none.
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64) * job.pipeline.source.event_time.spelling.unit_us
    if column.dtype == pl.String:
        column = column.str.strip_chars_end("Z").str.to_datetime(time_unit="us", strict=False)
    if not isinstance(column.dtype, pl.Datetime) or column.null_count():
        msg = f"column {column.name!r} has values that are no instants: name another by --start"
        raise AuditError(msg)
    return column.dt.cast_time_unit("us").dt.timestamp("us")
