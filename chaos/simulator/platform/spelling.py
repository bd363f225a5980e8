"""Convert what shards emit to the tables of a sink: lines of rows and dead letters, and metrics.

There are two ways, chosen by the case: like the local engine, each shard's frames separately; or
like the table sinks, the frames of all shards together, read back from columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chaos.readers.delta import table_dead_letters, table_rows
from chaos.readers.output import dead_letter_identity, row_identity
from chaos.simulator.history import Lines, Metric
from windowing.engine.families.due_rows import RowsByQuery
from windowing.engine.storage.frames import from_bytes
from windowing.model.fates import Counts, Fates
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import Row, dead_letter_line, row_line
from windowing.runtime.output import (
    DEAD_LETTER,
    EARLY,
    METRIC,
    RESULT,
    dead_letters_of,
    rows_of,
)
from windowing.spark.sinks.rows import DEAD_LETTERS, BatchRows
from windowing.spark.sinks.rows import METRICS as METRICS_TABLE
from windowing.spark.sinks.tokens import Frames

Tables = dict[str, list[object]]
"""The entries of a batch by table. Every table is present, so that each gets the batch's token."""

Spelling = Callable[[Sequence[Frames], int], Tables]

DEAD, METRICS = "dead letters", "metrics"


def names(pipeline: Pipeline) -> list[str]:
    """Return the names of a pipeline's tables."""
    return [*(f"query {query.name}" for query in pipeline.flows), DEAD, METRICS]


def shown(tables: Tables) -> Lines:
    """Return the rows and dead letters of an attempt, but not its counts."""
    lines = (line for name, lines in tables.items() if name != METRICS for line in lines)
    return frozenset(line[1] for line in lines)  # type: ignore[index]


def spelling(pipeline: Pipeline, *, tables: bool) -> Spelling:
    """Return a function from the frames of a batch, by shard, and its number, to tables."""
    return _by_columns(pipeline) if tables else _by_frames(pipeline)


def _by_frames(pipeline: Pipeline) -> Spelling:
    queries = {query.name: query for query in pipeline.flows}
    apart = RowsByQuery(pipeline)

    def spelled(shards: Sequence[Frames], batch: int) -> Tables:
        del batch
        fates = pipeline.source.fates
        tables: Tables = {name: [] for name in names(pipeline)}
        for kind, name, data in (frame for frames in shards for frame in frames):
            if kind == RESULT and name is not None:
                for query, frame in apart.of(name, from_bytes(data)):
                    rows = rows_of(queries[query], pipeline, frame)
                    tables[f"query {query}"] += [(row_identity(row), row_line(row)) for row in rows]
            elif kind == DEAD_LETTER:
                letters = dead_letters_of(pipeline, data)
                tables[DEAD] += [(dead_letter_identity(d), dead_letter_line(d)) for d in letters]
            elif kind == METRIC:
                found = from_bytes(data).to_dicts()
                lanes = [pipeline.source.lane(row["partition"]) for row in found]
                tables[METRICS] += [
                    metric_of(lane, row, fates) for lane, row in zip(lanes, found, strict=True)
                ]
        return tables

    return spelled


def early_rows(pipeline: Pipeline, shards: Sequence[Frames]) -> list[Row]:
    """Return the early rows of a batch."""
    queries = {query.name: query for query in pipeline.flows}
    return [
        row
        for frames in shards
        for kind, name, data in frames
        if kind == EARLY and name is not None
        for row in rows_of(queries[name], pipeline, from_bytes(data), early=True)
    ]


def _by_columns(pipeline: Pipeline) -> Spelling:
    batches = BatchRows(pipeline, "simulated")

    def spelled(shards: Sequence[Frames], batch: int) -> Tables:
        frames = [frame for own in shards for frame in own]
        found: dict[str, pa.Table] = batches.tables(frames, batch)
        fates = pipeline.source.fates
        tables: Tables = {name: [] for name in names(pipeline)}
        for query in pipeline.flows:
            if (table := found.get(pipeline.table_of(query.name))) is not None:
                own = table.filter(pc.field("query") == query.name)
                tables[f"query {query.name}"] += table_rows(own, query, Path(query.name))
        if DEAD_LETTERS in found:
            tables[DEAD] += table_dead_letters(found[DEAD_LETTERS], Path(DEAD_LETTERS))
        if METRICS_TABLE in found:
            rows = found[METRICS_TABLE].to_pylist()
            tables[METRICS] += [metric_of(row["lane"], row, fates) for row in rows]
        return tables

    return spelled


def metric_of(lane: str, row: dict[str, Any], fates: Fates) -> Metric:
    """Return the metric of a lane in a row of the table."""
    return Metric(
        lane=lane,
        query=row["query"],
        counts=Counts.in_row(fates, row),
        progress_us=row["progress_us"],
        ended=row["ended"],
    )
