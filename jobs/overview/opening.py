"""Opens a run's Delta tables: for what their newest commits alone do not show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.overview.cache import TableVersion, digest, digests, stamp
from jobs.overview.files import AddedFile, Files, Unreadable, unreadable
from windowing.files.table_rows import rows_in

_LOW, _HIGH, _AT = "min.batch_id", "max.batch_id", "modification_time"
_SIZE: Final = "size_bytes"
_RUN: Final = "partition.run"


def is_here(table: Path) -> bool:
    """Whether a table is on this machine; if not, it is on HDFS, and only deltalake reaches it."""
    return table.is_dir()


def opened(
    folder: Path, run: str, seen: TableVersion | None, before: int | None = None
) -> tuple[Files, TableVersion]:
    """Open a table; return the run's files in it, and its version.

    Args:
        seen: the version that was counted; None: none.
        before: the first batch to leave out; None: none.

    Raises:
        Unreadable: it cannot be opened.
    """
    try:
        table = DeltaTable(str(folder))
        files = _files(pl.DataFrame(table.get_add_actions(flatten=True)), run)
    except TableNotFoundError:
        msg = f"{folder} is not there yet: the run has not written to it"
        raise Unreadable(msg) from None
    except (DeltaError, OSError, pl.exceptions.PolarsError) as error:
        raise Unreadable(unreadable(folder, error)) from None
    there = [file for file in files if not file.is_behind(before)]
    settled = all(file.is_before(before) for file in there)
    # What holds batches on both sides of the cut, and what is behind it, is looked at again.
    current = digests(file.path for file in there) if settled else []
    at = stamp(folder, table.version()) if settled and len(there) == len(files) else None
    counted, now = set(seen.files if seen else ()), TableVersion(table.version(), at or [], current)
    if not is_here(folder):
        read = partial(_elsewhere, table, run)
        return Files(folder, files, whole=True, elsewhere=read, before=before), now
    if not settled or not counted <= set(current):
        return Files(folder, there, whole=True, before=None if settled else before), now
    fresh = [file for file in there if digest(file.path) not in counted]
    return Files(folder, fresh, whole=not counted), now


def _elsewhere(table: DeltaTable, run: str, columns: Mapping[str, Any]) -> pl.LazyFrame:
    """Read columns of a run's rows; a column that the table lacks is null."""
    there = [name for name in columns if name in table.schema().to_arrow().names]
    rows = pl.LazyFrame(pl.DataFrame(rows_in(table, columns=there, run=run)))
    absent = [pl.lit(None).alias(name) for name in columns if name not in there]
    return rows.with_columns(absent).select(list(columns)).cast(pl.Schema(columns))


def _files(actions: pl.DataFrame, run: str) -> list[AddedFile]:
    """Return the files of a run, as deltalake lists a table's."""
    if not len(actions):
        return []
    mine = actions.filter(pl.col(_RUN) == run)
    if mine.schema[_AT] == pl.Datetime:
        mine = mine.with_columns(pl.col(_AT).dt.epoch("ms"))
    known = _LOW in mine.columns and _HIGH in mine.columns
    ends = [(None, None)] * len(mine) if not known else mine.select(_LOW, _HIGH).iter_rows()
    return [
        AddedFile(unquote(path), None if None in (low, high) else (low, high), at * 1000, size)
        for path, at, size, (low, high) in zip(
            mine["path"], mine[_AT], mine[_SIZE], ends, strict=True
        )
    ]
