"""The rows of Delta tables, as Arrow reads them by itself.

By default deltalake has Arrow read files through Python, in threads of Arrow's own. They may still
be at it when a short program ends, and then abort it (4 of 60 programs that read a small table).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.dataset import Dataset
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem


def dataset_of(table: DeltaTable) -> Dataset:
    """Return a table's rows as a dataset."""
    return table.to_pyarrow_dataset(filesystem=_files_of(table))


def rows_in(
    table: DeltaTable, *, columns: Sequence[str] | None = None, run: str | None = None
) -> pa.Table:
    """Return a table's rows.

    Args:
        columns: only these; None: all.
        run: only this run's; None: those of all runs.
    """
    filters = None if run is None else [("run", "=", run)]
    names = None if columns is None else list(columns)
    return table.to_pyarrow_table(columns=names, filters=filters, filesystem=_files_of(table))


def folder_of(table: DeltaTable) -> Path:
    """Return a table's folder on this machine, or on HDFS."""
    return Path(unquote(urlsplit(table.table_uri).path))


def _files_of(table: DeltaTable) -> SubTreeFileSystem | None:
    """Return the files of a table on this machine; None: deltalake knows how to reach them."""
    if urlsplit(table.table_uri).scheme not in ("", "file"):
        return None
    return SubTreeFileSystem(str(folder_of(table)), LocalFileSystem())
