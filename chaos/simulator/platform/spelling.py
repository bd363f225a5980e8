"""What shards emit, as the tables of a sink: lines of rows and dead letters, and metrics.

There are two ways, and a case says which: as the local engine spells frames, each shard's by
itself; or as the table sinks do, the frames of all shards put together and read back from columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from chaos.readers.output import (
    dead_letter_identity,
    row_identity,
    table_dead_letters,
    table_rows,
)
from chaos.simulator.history import Metric
from windowing.engine.frames import from_bytes
from windowing.engine.shard import Emission
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import dead_letter_line, row_line
from windowing.runtime.output import dead_letters_of, rows_of, tagged
from windowing.spark.sinks.rows import DEAD_LETTERS, BatchRows
from windowing.spark.sinks.rows import METRICS as METRICS_TABLE

Tables = dict[str, list[object]]
"""By table, what a batch brings; every table is there, so that each gets the batch's token."""

Spelling = Callable[[Sequence[Emission], int], Tables]

DEAD, METRICS = "dead letters", "metrics"


def names(pipeline: Pipeline) -> list[str]:
    """The tables of a pipeline."""
    return [*(f"query {query.name}" for query in pipeline.queries), DEAD, METRICS]


def spelling(pipeline: Pipeline, *, tables: bool) -> Spelling:
    """What turns the emissions of a batch, given with its number, into tables.

    Args:
        pipeline: the pipeline.
        tables: as the table sinks do.
    """
    return _by_columns(pipeline) if tables else _by_frames(pipeline)


def _by_frames(pipeline: Pipeline) -> Spelling:
    queries = {query.name: query for query in pipeline.queries}

    def spelled(emissions: Sequence[Emission], batch: int) -> Tables:
        del batch
        tables: Tables = {name: [] for name in names(pipeline)}
        for emission in emissions:
            for query, frame in emission.results.items():
                rows = rows_of(queries[query], pipeline, frame)
                tables[f"query {query}"] += [(row_identity(row), row_line(row)) for row in rows]
            for query, frame in emission.early.items():
                # No part of what a log means; that they can be spelled is all that is asked.
                list(rows_of(queries[query], pipeline, frame, early=True))
            for data in emission.dead_letters:
                letters = dead_letters_of(pipeline, data)
                tables[DEAD] += [(dead_letter_identity(d), dead_letter_line(d)) for d in letters]
            for data in emission.metrics:
                found = from_bytes(data).to_dicts()
                lanes = [pipeline.source.lane(row["partition"]) for row in found]
                tables[METRICS] += map(_metric, lanes, found)
        return tables

    return spelled


def _by_columns(pipeline: Pipeline) -> Spelling:
    batches = BatchRows(pipeline, "simulated")

    def spelled(emissions: Sequence[Emission], batch: int) -> Tables:
        frames = [frame for emission in emissions for frame in tagged(emission)]
        found: dict[str, pa.Table] = batches.tables(frames, batch)
        tables: Tables = {name: [] for name in names(pipeline)}
        for query in pipeline.queries:
            if query.name in found:
                lines = table_rows(found[query.name], query, Path(query.name))
                tables[f"query {query.name}"] += lines
        if DEAD_LETTERS in found:
            tables[DEAD] += table_dead_letters(found[DEAD_LETTERS], Path(DEAD_LETTERS))
        if METRICS_TABLE in found:
            rows = found[METRICS_TABLE].to_pylist()
            tables[METRICS] += [_metric(row["lane"], row) for row in rows]
        return tables

    return spelled


def _metric(lane: str, row: dict[str, Any]) -> Metric:
    return Metric(
        lane=lane,
        query=row["query"],
        counts=(row["read"], row["applied"], row["outside"], row["dropped"], row["dead"]),
        progress_us=row["progress_us"],
        ended=row["ended"],
    )
