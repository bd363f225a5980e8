"""The registered reader of Delta tables."""

from __future__ import annotations

from pathlib import Path

from chaos.readers.delta import read_tables
from chaos.readers.output import Output, OutputError
from chaos.readers.reader import reader
from windowing.model import Pipeline


@reader("table")
def read_folder(
    pipeline: Pipeline, folder: Path | None, run: str | None, *, before: int | None = None
) -> Output:
    """Read the tables in a run's folder.

    Raises:
        OutputError: as `read_tables`, or no folder is given.
    """
    if folder is None:
        msg = f"pipeline {pipeline.name} writes to tables: name their folder"
        raise OutputError(msg)
    return read_tables(folder, pipeline, run, before=before)
