"""The output of a run from its tables, or from lines such as those of `slackwater run`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.quality.columns import ROW_COLUMNS, key_columns, value_columns
from chaos.quality.finality import Reached
from chaos.quality.frames import (
    COUNTED,
    INSTANT,
    KINDS,
    PROGRESS,
    RunOutput,
    counted,
    reached_in,
    there_still,
    to_pandas,
)
from chaos.readers.catalogue import read_output
from chaos.readers.output import Output, OutputError
from windowing.files.places import place
from windowing.files.table_rows import dataset_of, rows_in
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.semantics import LogEntry, evaluate

_TYPES: Final = {
    **dict.fromkeys(("window_start", "window_end"), INSTANT),
    **dict.fromkeys(("run", "query", "pane"), pa.string()),
    **dict.fromkeys(("window_id", "revision", "records", "batch_id"), pa.int64()),
}
_INFINITE: Final = {"Infinity": float("inf"), "-Infinity": float("-inf")}


def output_of(
    pipeline: Pipeline, folder: Path, run: str, log: Iterable[LogEntry]
) -> tuple[RunOutput, Iterable[LogEntry]]:
    """Return the output of a run as frames; those of a plug-in sink come from its reader's lines.

    Args:
        pipeline: the pipeline.
        folder: folder of the run's tables, for a sink that writes files.
        run: the run's name.
        log: the whole log; read only if the sink has no counts of records.

    Returns:
        the frames, and the log to continue with, since it can be read only once.

    Raises:
        OutputError: something is missing, or there is no such run.
        PluginError: the sink has no reader.
    """
    if pipeline.destination.kind == "table":
        return RunTables(folder, pipeline, run), log
    if pipeline.destination.kind == "postgres":
        from chaos.quality.postgres_batches import PostgresRun  # noqa: PLC0415 - if wanted

        return PostgresRun(pipeline, run), log
    kept = [*log]
    return RunLines(read_output(pipeline, folder, run), pipeline, kept), kept


class RunTables:
    """The tables of one run of a pipeline.

    Args:
        table_dir: folder with a Delta table per query, or one for all, and `dead_letters` and
            `metrics`.
        pipeline: the pipeline.
        run: the run's name.

    Raises:
        OutputError: a table is missing, or none of them holds a row of this run.
    """

    def __init__(self, table_dir: str | Path, pipeline: Pipeline, run: str) -> None:
        self._folder, self._pipeline, self._run = place(table_dir), pipeline, run
        # The sink writes a batch's metrics after its rows, so rows read later have that batch.
        self._reached = _open(self._folder / "metrics")
        names = [*pipeline.tables, "dead_letters", "metrics"]
        self._tables = {name: _open(self._folder / name) for name in names}
        self._check_run()

    def _check_run(self) -> None:
        runs: set[str] = set()
        for table in self._tables.values():
            runs |= set(pc.unique(rows_in(table, columns=["run"])["run"]).to_pylist())
        if self._run not in runs:
            listed = ", ".join(sorted(runs)) or "none"
            msg = f"{self._folder}: no run is called {self._run!r}; the tables hold: {listed}"
            raise OutputError(msg)

    def _arrow(self, name: str, columns: Iterable[str]) -> pa.Table:
        table = rows_in(self._tables[name], run=self._run)
        lacking = [column for column in columns if column not in table.column_names]
        if lacking:
            place = self._folder / name
            msg = f"{place}: not a table of the sink: it has no column {', '.join(lacking)}"
            raise OutputError(msg)
        return table.select(list(columns))

    def rows(self, query: Flow) -> pd.DataFrame:
        """All results of a query; see `RunOutput`."""
        structs = {"key": key_columns(query), "values": value_columns(query)}
        there = [name for name, fields in structs.items() if fields]
        name = self._pipeline.table_of(query.name)
        table = self._arrow(name, [*ROW_COLUMNS, *query.marks, *there])
        wanted_rows = pc.and_(
            pc.equal(table["query"], query.name), pc.not_equal(table["pane"], "early")
        )
        if "op" in query.marks:
            wanted_rows = pc.and_(wanted_rows, pc.is_null(table["op"]))
        table = table.filter(wanted_rows)
        columns: dict[str, Any] = {name: table[name] for name in ROW_COLUMNS}
        for struct in there:
            type_ = table[struct].type
            found = [field.name for field in type_] if pa.types.is_struct(type_) else []
            if not {*structs[struct]} <= {*found}:  # runs of other versions may have more
                wanted, place = ", ".join(structs[struct]), self._folder / name
                msg = f"{place}: column {struct} is {type_}, and the pipeline has {wanted}"
                raise OutputError(msg)
            for field, column in structs[struct].items():
                columns[column] = pc.struct_field(table[struct], field)
        rows = to_pandas(pa.table(columns))
        if "absorbed_by" not in query.marks:
            return rows
        return there_still(rows, table["absorbed_by"].is_valid().to_pandas(), query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return sums of the run's own metrics, and the number of its dead letters."""
        metrics = to_pandas(self._arrow("metrics", ["query", "batch_id", *COUNTED]))
        letters = to_pandas(self._arrow("dead_letters", ["query", "reason"]))
        return counted(metrics, letters, queries)

    def reached(self) -> Reached:
        """Return the progress as of a batch that `rows` has, from the metrics read before it."""
        table = rows_in(self._reached, run=self._run, columns=["lane", *PROGRESS])
        return reached_in(to_pandas(table))

    def size(self) -> int:
        """Return the number of rows, without reading them."""
        of_the_run = pc.field("run") == self._run
        tables = [self._tables[name] for name in self._pipeline.tables]
        return sum(dataset_of(table).count_rows(filter=of_the_run) for table in tables)


def _open(path: Path) -> DeltaTable:
    try:
        return DeltaTable(str(path))
    except TableNotFoundError:
        msg = f"{path}: there is no Delta table: has the pipeline run with this folder?"
        raise OutputError(msg) from None


class RunLines:
    """The rows and dead letters of a run, from a reader's lines, and the definition's counts."""

    def __init__(self, found: Output, pipeline: Pipeline, log: Sequence[LogEntry]) -> None:
        self._pipeline, self._log = pipeline, log
        self._rows = [json.loads(line) for _, line in found.rows]
        self._dead = [json.loads(line) for _, line in found.dead]

    def rows(self, query: Flow) -> pd.DataFrame:
        """All results of a query, in columns of the types that tables have."""
        own = [row for row in self._rows if row["query"] == query.name]
        own = [row for row in own if row.get("op") != "retract"]
        columns: dict[str, Any] = {
            name: pa.array([row.get(name) for row in own], _TYPES[name]) for name in ROW_COLUMNS
        }
        fields = self._pipeline.source.fields
        key_kinds = query.key_kinds(fields)
        for at, (field, column) in enumerate(key_columns(query).items()):
            columns[column] = pa.array([row["key"][at] for row in own], KINDS[key_kinds[field]])
        kinds = query.value_types(fields)
        for name, column in value_columns(query).items():
            kind = KINDS[kinds[name].kind]
            values = [_restored(row["values"][name], kind) for row in own]
            columns[column] = pa.array(values, pa.list_(kind) if kinds[name].many else kind)
        rows = to_pandas(pa.table(columns))
        if "absorbed_by" not in query.marks:
            return rows
        gone = pd.Series([row.get("absorbed_by") is not None for row in own], dtype=bool)
        return there_still(rows, gone, query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return the definition's counts, and the number of dead-letter lines."""
        letters = pd.DataFrame(self._dead, columns=["query", "reason"], dtype=object)
        return counted(self._metrics, letters, queries)

    def reached(self) -> Reached:
        """Return nothing: lines do not tell how far the run was when they were read."""
        return {}

    def size(self) -> int:
        """Return the number of lines."""
        return len(self._rows)

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        counts = evaluate(self._pipeline, self._log).counts
        rows = [
            {"query": query, "batch_id": 0, **{name: getattr(found, name) for name in COUNTED}}
            for query, found in counts.items()
        ]
        return pd.DataFrame(rows, columns=["query", "batch_id", *COUNTED])


def _restored(value: Any, kind: pa.DataType) -> Any:
    """Return a value as before its conversion to JSON, which has no infinities."""
    if isinstance(value, list):
        return [_restored(one, kind) for one in value]
    is_spelled = kind == pa.float64() and isinstance(value, str)
    return _INFINITE[value] if is_spelled else value
