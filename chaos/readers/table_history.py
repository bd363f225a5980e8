"""Add the facts that the check of progress needs from a run's tables to the history."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.history import History
from chaos.readers.output import OutputError
from windowing.files.table_rows import rows_in
from windowing.model.file.pipeline import Pipeline
from windowing.model.rules import closes_by_all_lanes


def note_tables(history: History, folder: Path, pipeline: Pipeline, run: str) -> None:
    """Record each lane's progress and the first rows of windows, batch by batch.

    The time of an entry is the commit time of its batch.

    Raises:
        OutputError: a table is missing.
    """
    committed = {entry["batch"]: entry.at_s for entry in history.of("commit")}
    metrics = _table(folder / "metrics", run)
    steps = (
        metrics.filter(pl.col("first_offset").is_not_null())
        .select("batch_id", "lane", "progress_us", "first_offset", "last_offset")
        .unique()
        .sort("batch_id", "lane")
    )
    for batch, lane, progress_us, first, last in steps.iter_rows():
        history.note(
            committed.get(batch, 0.0),
            "progress",
            batch=batch,
            lane=lane,
            progress_us=progress_us,
            first=first,
            last=last,
        )
    source, per_key = pipeline.source, pipeline.source.disorder.progress_attr is not None
    for query in pipeline.flows:
        rows = _table(folder / pipeline.table_of(query.name), run).filter(
            pl.col("revision") == 0, pl.col("query") == query.name
        )
        # Other windows end by rows, keys or another attribute, not by the time of all lanes.
        by_lanes = closes_by_all_lanes(query, source.event_time.field) and not per_key
        ends = pl.col("window_end").dt.epoch("us").max() if by_lanes else pl.lit(None)
        for batch, end_us in rows.group_by("batch_id").agg(ends).sort("batch_id").iter_rows():
            at_s = committed.get(batch, 0.0)
            history.note(at_s, "emitted", batch=batch, query=query.name, end_us=end_us)


def _table(path: Path, run: str) -> pl.DataFrame:
    try:
        table = DeltaTable(str(path))
    except TableNotFoundError:
        msg = f"{path} is not there: has the run written anything?"
        raise OutputError(msg) from None
    return pl.DataFrame(rows_in(table, run=run))
