"""The rows in files of a run's tables, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from jobs.overview.files import AT, BATCH, Files


def rows_in(files: Files, columns: Mapping[str, Any]) -> pl.LazyFrame:
    """Return columns of the rows in files that have not been counted.

    Args:
        files: the files.
        columns: their types; a column that a file lacks is null.
    """
    if files.elsewhere is not None:
        return files.elsewhere(columns)
    if not files.fresh:
        return pl.LazyFrame(schema=dict(columns))
    return pl.scan_parquet(
        [files.folder / file.path for file in files.fresh],
        schema=dict(columns),
        missing_columns="insert",
        extra_columns="ignore",
        hive_partitioning=False,
        glob=False,
    )


def written(files: Files) -> pl.DataFrame:
    """Return when files with a single batch were committed, by batch."""
    alone = [file for file in files.fresh if file.batches and len({*file.batches}) == 1]
    rows = [(file.batches[0], file.at_us) for file in alone if file.batches]
    return pl.DataFrame(rows, schema={BATCH: pl.Int64, AT: pl.Int64}, orient="row")
