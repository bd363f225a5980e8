"""Data files of Delta tables, which any process may write; readers see what a commit names.

A file's name is unique, so an attempt that is repeated or run twice never overwrites another's. A
file that no commit names is an orphan, which `vacuum` removes.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from windowing.model.run_errors import UnseenFile
from windowing.spark.sinks.growth import conformed

RUN: Final = "run"
"""The column by which tables are partitioned."""

_NAME: Final = re.compile(r"part-\d+-[0-9a-f-]{36}-c\d+(\.\w+)?\.parquet")
_FIRST_US, _END_US = -62_135_596_800_000_000, 253_402_300_800_000_000  # years 1 to 9999


class DataFile(msgspec.Struct, frozen=True):
    """A file that holds some rows of a table.

    Attributes:
        table: the table's name.
        path: relative to the table's folder.
        run: the run of all its rows.
        size: in bytes.
        stats: Delta's statistics, as JSON: the number of rows, and smallest, largest and missing
            values of columns.
    """

    table: str
    path: str
    run: str
    size: int
    stats: str


def is_ours(name: str) -> bool:
    """Return whether a file name is one that a table's writers give to data files."""
    return _NAME.fullmatch(name) is not None


def write_file(folder: Path, table: str, rows: pa.Table, schema: pa.Schema) -> DataFile:
    """Write rows of one run into a new file of a table, and wait until they are on disk.

    Args:
        folder: the folder of all tables.
        table: the table's name.
        rows: at least one.
        schema: the table's; columns that the rows lack are null.

    Raises:
        OSError: the folder cannot be written.
    """
    run = rows[RUN][0].as_py()
    kept = conformed(rows, schema).drop_columns([RUN])
    # Partition folders are named as Delta's writers do; readers use the log only.
    path = f"{RUN}={quote(run, safe='')}/part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    place = folder / table / path
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as file:
        pq.write_table(kept, file)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    _sync_folder(place.parent)
    return DataFile(table, path, run, size, json.dumps(_stats(kept)))


def add_action(folder: Path, file: DataFile) -> AddAction:
    """Return the action that makes a file part of its table.

    Raises:
        UnseenFile: the file is not where this process looks for it, or has another size.
    """
    place = folder / file.table / file.path
    size = place.stat().st_size if place.is_file() else None
    if size != file.size:
        found = "it is not there" if size is None else f"it has {size:,} bytes there"
        msg = (
            f"an executor has written {place} ({file.size:,} bytes), and for the driver {found}: "
            "executors write large results themselves, so the folder of tables must be on a file "
            "system that all machines share"
        )
        raise UnseenFile(msg)
    written_ms = time.time_ns() // 1_000_000
    return AddAction(file.path, file.size, {RUN: file.run}, written_ms, True, file.stats)


def _sync_folder(folder: Path) -> None:
    """Wait until a new file's entry in its folder is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stats(rows: pa.Table) -> dict[str, Any]:
    """Return Delta's statistics of the columns of integers and timestamps."""
    least, most, missing = {}, {}, {}
    for name, column in _ordered_columns(rows):
        missing[name] = column.null_count
        ends = pc.min_max(column.cast(pa.int64()))
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is None:
            continue
        if pa.types.is_timestamp(column.type):
            if low < _FIRST_US or high >= _END_US - 1_000:
                continue  # has no spelling as a date
            # Delta's statistics have milliseconds, and may be wider than the values.
            low, high = _spelled(low // 1_000), _spelled(-(-high // 1_000))
        least[name], most[name] = low, high
    return {"numRecords": len(rows), "minValues": least, "maxValues": most, "nullCount": missing}


def _ordered_columns(rows: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type):
            yield name, column


def _spelled(instant_ms: int) -> str:
    """Return an instant as Delta's statistics spell it."""
    instant = pa.scalar(instant_ms, pa.timestamp("ms")).as_py()
    return str(instant.isoformat(timespec="milliseconds")) + "Z"
