"""The output of a run from its tables, or from lines such as those of `slackwater run`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from chaos.quality.columns import OVERFLOW, key_columns, row_columns, value_columns
from chaos.quality.finality import Reached
from chaos.quality.frames import (
    INSTANT,
    PROGRESS,
    RunOutput,
    arrow_type,
    counts_of,
    reached_in,
    still_sent,
    there_still,
    to_pandas,
    unended,
)
from chaos.readers.catalogue import columns_of, read_output
from chaos.readers.output import Output
from chaos.readers.reader import RunColumns
from windowing.model.fates import READ, counted
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.semantics import LogEntry, Outcome, evaluate

_TYPES: Final = {
    **dict.fromkeys(("window_start", "window_end"), INSTANT),
    **dict.fromkeys(("run", "query", "pane", OVERFLOW, "op"), pa.string()),
    "tombstone": pa.bool_(),
    **dict.fromkeys(("window_id", "revision", "records", "batch_id"), pa.int64()),
}
_INFINITE: Final = {"Infinity": float("inf"), "-Infinity": float("-inf")}


def output_of(
    pipeline: Pipeline,
    folder: Path,
    run: str,
    log: Iterable[LogEntry],
    before: int | None = None,
) -> tuple[RunOutput, Iterable[LogEntry]]:
    """Return the output of a run as frames; those of a plug-in sink come from its reader's lines.

    Args:
        folder: folder of the run's tables, for a sink that writes files.
        log: the whole log; read only if the sink has no counts of records.
        before: the first batch to leave out; None: none.

    Returns:
        the frames, and the log to continue with, since it can be read only once.

    Raises:
        OutputError: something is missing, or there is no such run.
        PluginError: the sink has no reader.
    """
    columns = columns_of(pipeline, folder, run, before)
    if columns is not None:
        return RunTables(columns), log
    kept = [*log]
    return RunLines(read_output(pipeline, folder, run, before=before), pipeline, kept), kept


class RunTables:
    """The tables of one run, whatever they are in."""

    def __init__(self, columns: RunColumns) -> None:
        self._columns = columns

    def rows(self, query: Flow) -> pd.DataFrame:
        """All results of a query; see `RunOutput`."""
        plain = row_columns(query, self._columns.fields)
        table, absorbed = self._columns.results(
            query, plain, key_columns(query), value_columns(query)
        )
        if OVERFLOW in table.column_names:
            at, names = table.column_names.index(OVERFLOW), pc.binary_join(table[OVERFLOW], ", ")
            table = table.set_column(at, OVERFLOW, names)
        rows = to_pandas(table)
        if absorbed is not None:
            rows = there_still(rows, absorbed.to_pandas(), query)
        return still_sent(rows, query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return sums of the run's own metrics, and the number of its dead letters."""
        fates = self._columns.fates
        metrics = to_pandas(self._columns.metrics(["query", "batch_id", *counted(fates)]))
        letters = to_pandas(self._columns.dead_letters(["query", "reason"]))
        return counts_of(metrics, letters, queries, fates)

    def reached(self) -> Reached:
        """Return the lanes' progress after the last batch that is read."""
        return reached_in(to_pandas(self._columns.metrics(["lane", *PROGRESS])))

    def progress(self) -> Mapping[str, int]:
        """Return the progress of the lanes that have one, and have not ended."""
        return unended(self.reached())

    def size(self) -> int:
        """Return the number of rows, without reading them."""
        return self._columns.size()


class RunLines:
    """The rows and dead letters of a run, from a reader's lines, and the definition's counts."""

    def __init__(self, found: Output, pipeline: Pipeline, log: Sequence[LogEntry]) -> None:
        self._pipeline, self._log = pipeline, log
        self._rows = [json.loads(line) for _, line in found.rows]
        self._dead = [json.loads(line) for _, line in found.dead]

    def rows(self, query: Flow) -> pd.DataFrame:
        """All results of a query, in columns of the types that tables have."""
        own = [row for row in self._rows if row["query"] == query.name]
        if query.having is None:
            own = [row for row in own if row.get("op") != "retract"]
        fields = self._pipeline.source.fields
        columns: dict[str, Any] = {
            name: pa.array([_plain(row.get(name)) for row in own], _TYPES[name])
            for name in row_columns(query, fields)
        }
        key_types = query.key_types(fields)
        for at, (field, column) in enumerate(key_columns(query).items()):
            type_ = arrow_type(key_types[field])
            columns[column] = pa.array([_restored(row["key"][at], type_) for row in own], type_)
        kinds = query.value_types(fields)
        for name, column in value_columns(query).items():
            kind = arrow_type(kinds[name])
            values = [_restored(row["values"][name], kind) for row in own]
            columns[column] = pa.array(values, pa.list_(kind) if kinds[name].many else kind)
        rows = to_pandas(pa.table(columns))
        if "absorbed_by" in query.marks:
            gone = pd.Series([row.get("absorbed_by") is not None for row in own], dtype=bool)
            rows = there_still(rows, gone, query)
        return still_sent(rows, query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return the definition's counts, and the number of dead-letter lines."""
        letters = pd.DataFrame(self._dead, columns=["query", "reason"], dtype=object)
        return counts_of(self._metrics, letters, queries, self._pipeline.source.fates)

    def reached(self) -> Reached:
        """Return nothing: lines do not show how far the run was when they were read."""
        return {}

    def progress(self) -> Mapping[str, int]:
        """Return the lanes' progress by the definition, over the log that was given."""
        return unended(self._defined.progress)

    def size(self) -> int:
        """Return the number of lines."""
        return len(self._rows)

    @cached_property
    def _defined(self) -> Outcome:
        return evaluate(self._pipeline, self._log)

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        counts = self._defined.counts
        rows = [
            {"query": query, "batch_id": 0, READ: found.read, **found}
            for query, found in counts.items()
        ]
        columns = ["query", "batch_id", *counted(self._pipeline.source.fates)]
        return pd.DataFrame(rows, columns=columns)


def _plain(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value


def _restored(value: Any, kind: pa.DataType) -> Any:
    """Return a value as before its conversion to JSON, which has fewer kinds."""
    if isinstance(value, list):
        return [_restored(one, kind) for one in value]
    if not isinstance(value, str):
        return value
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_date(kind):
        return date.fromisoformat(value)
    return _INFINITE[value] if kind == pa.float64() else value
