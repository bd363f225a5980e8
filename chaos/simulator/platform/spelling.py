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
from chaos.simulator.history import Metric
from windowing.engine.families.apart import Apart
from windowing.engine.frames import from_bytes
from windowing.engine.shard import Emission
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import dead_letter_line, row_line
from windowing.runtime.output import dead_letters_of, rows_of, tagged
from windowing.spark.sinks.rows import DEAD_LETTERS, BatchRows
from windowing.spark.sinks.rows import METRICS as METRICS_TABLE

Tables = dict[str, list[object]]
"""The entries of a batch by table. Every table is present, so that each gets the batch's token."""

Spelling = Callable[[Sequence[Emission], int], Tables]

DEAD, METRICS = "dead letters", "metrics"


def names(pipeline: Pipeline) -> list[str]:
    """Return the names of a pipeline's tables."""
    return [*(f"query {query.name}" for query in pipeline.flows), DEAD, METRICS]


def spelling(pipeline: Pipeline, *, tables: bool) -> Spelling:
    """Return a function from the emissions of a batch, and its number, to tables.

    Args:
        pipeline: the pipeline.
        tables: whether to convert like the table sinks.
    """
    return _by_columns(pipeline) if tables else _by_frames(pipeline)


def _by_frames(pipeline: Pipeline) -> Spelling:
    queries = {query.name: query for query in pipeline.flows}
    apart = Apart(pipeline)

    def spelled(emissions: Sequence[Emission], batch: int) -> Tables:
        del batch
        tables: Tables = {name: [] for name in names(pipeline)}
        for emission in emissions:
            for flow, emitted in emission.results.items():
                for query, frame in apart.of(flow, emitted):
                    rows = rows_of(queries[query], pipeline, frame)
                    tables[f"query {query}"] += [(row_identity(row), row_line(row)) for row in rows]
            for query, frame in emission.early.items():
                # Early rows are not part of the result; only check that they can be formatted.
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
        for query in pipeline.flows:
            if (table := found.get(pipeline.table_of(query.name))) is not None:
                own = table.filter(pc.field("query") == query.name)
                tables[f"query {query.name}"] += table_rows(own, query, Path(query.name))
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
