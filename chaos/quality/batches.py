"""The output of a run as pandas frames for expectations.

Frames have the flat columns of `columns`. Integers stay integers where some are null, and instants
are microseconds in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.quality.columns import ROW_COLUMNS, key_columns, value_columns, window_columns
from chaos.quality.finality import Reached
from chaos.quality.frames import frames
from chaos.readers.output import OutputError, with_earlier
from windowing.files.places import place
from windowing.files.table_rows import dataset_of, rows_in
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.semantics import Counts, Outcome

_NULLABLE: Final = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
COUNTED: Final = ("read", "applied", "outside", "dropped")
"""The counts in a run's metrics; dead letters are counted in their own table."""

PROGRESS: Final = ("progress_us", "ended")
"""The columns of a run's metrics that hold a lane's progress."""

LATE: Final = ("late", "out_of_retention")
"""Dead-letter reasons that mean lateness."""

_KEY_TYPES: Final = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}


class RunOutput(Protocol):
    """The output of a run, from any sink."""

    def rows(self, query: Flow) -> pd.DataFrame:
        """All revisions of a query, as flat columns.

        Raises:
            OutputError: they are missing, or not the pipeline's.
        """

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return the accounting of records: one row per query, with read, applied, …, dead.

        Raises:
            OutputError: they are missing, or not the pipeline's.
        """

    def reached(self) -> Reached:
        """Return the lanes' progress as of a batch that `rows` has; empty: it is not known.

        Raises:
            OutputError: it is missing.
        """

    def size(self) -> int:
        """Return the number of rows written for all queries, including provisional ones."""


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
        """All revisions of a query, as flat columns.

        Only results are included: no provisional rows, no retractions, and no windows that other
        windows have absorbed.

        Raises:
            OutputError: the table lacks a column, or its key or values are not the pipeline's.
        """
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
        """Return the accounting of records: one row per query, with read, applied, …, dead.

        All except `dead` are sums of the run's own metrics. `dead` counts dead letters; those of
        all queries (`query` null) count for each query.
        """
        metrics = to_pandas(self._arrow("metrics", ["query", "batch_id", *COUNTED]))
        letters = to_pandas(self._arrow("dead_letters", ["query", "reason"]))
        return counted(metrics, letters, queries)

    def reached(self) -> Reached:
        """Return the lanes' progress as of a batch that `rows` has."""
        table = rows_in(self._reached, run=self._run, columns=["lane", *PROGRESS])
        return reached_in(to_pandas(table))

    def size(self) -> int:
        """Return the number of rows written for all queries, including provisional ones."""
        of_the_run = pc.field("run") == self._run
        tables = [self._tables[name] for name in self._pipeline.tables]
        return sum(dataset_of(table).count_rows(filter=of_the_run) for table in tables)


def there_still(rows: pd.DataFrame, absorbed: pd.Series[bool], query: Flow) -> pd.DataFrame:
    """Leave out the windows that are part of other ones now.

    Args:
        rows: rows of a query, as flat columns.
        absorbed: per row, whether it says that its window was absorbed.
        query: the query, which has the columns that identify windows.
    """
    windows = [rows[column] for column in window_columns(query)]
    gone = absorbed.groupby(windows, dropna=False).transform("any")
    return rows[~gone].reset_index(drop=True)


def counted(metrics: pd.DataFrame, letters: pd.DataFrame, queries: Iterable[str]) -> pd.DataFrame:
    """Return one row per query, with read, applied, …, dead, late, bad.

    `late` counts records too late for their windows: dropped, or dead letters; `bad` counts the
    other dead letters.

    Args:
        metrics: the run's own metrics, with the columns `query`, `batch_id` and `COUNTED`.
        letters: query and reason of each dead letter; the query is null for those of all queries.
        queries: names of the queries.
    """
    arrived, begun = metrics.groupby("query")["read"].sum().max(), metrics["batch_id"].min()
    rows = []
    for query in queries:
        batches = metrics[metrics["query"].eq(query)]
        own = letters[letters["query"].isna() | letters["query"].eq(query)]
        late = int(own["reason"].isin(LATE).sum())
        read, applied, outside, dropped = (int(batches[name].sum()) for name in COUNTED)
        found = Counts(read, applied, outside, dropped, len(own))
        if len(metrics) and (batches.empty or batches["batch_id"].min() > begun):
            found = with_earlier(found, int(arrived))
        told = {"bad": len(own) - late, "late": late + found.dropped}
        rows.append({"query": query, **asdict(found), **told})
    return pd.DataFrame(rows)


def reached_in(metrics: pd.DataFrame) -> Reached:
    """Return each lane's progress, which never falls.

    Args:
        metrics: the run's own metrics, with the columns `lane` and `PROGRESS`.
    """
    found: dict[str, int | float | None] = {}
    for lane, batches in metrics.groupby("lane"):
        furthest = batches["progress_us"].max()
        ended = batches["ended"].fillna(value=False).any()
        found[str(lane)] = math.inf if ended else None if pd.isna(furthest) else int(furthest)
    return found


def final(query: Flow, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the last revision of each window and key, in the order of the rows.

    A duplicate last revision is kept twice, and a row without revision is kept, so that a check can
    find them.
    """
    last = rows.groupby(window_columns(query), dropna=False)["revision"].transform("max")
    return rows[rows["revision"].eq(last).fillna(value=True)].reset_index(drop=True)


def defined_windows(outcome: Outcome, query: Flow, pipeline: Pipeline) -> pa.Table:
    """The windows that the definition gives, one row each, in columns as `rows` has them."""
    names = window_columns(query)
    kinds = query.key_kinds(pipeline.source.fields).values()
    own = [row for row in outcome.rows if row.query == query.name]
    gone = {(row.window_id, *row.key) for row in own if row.absorbed_by is not None}
    named = dict.fromkeys((row.window_id, *row.key) for row in own)
    windows = [window for window in named if window not in gone]
    types = [pa.int64(), *(_KEY_TYPES[kind] for kind in kinds)]
    columns = [
        pa.array([window[at] for window in windows], type_) for at, type_ in enumerate(types)
    ]
    return pa.table(columns, names=names)


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Convert to pandas without turning integer columns with nulls into floats."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=_NULLABLE.get)
    return frame


def _open(path: Path) -> DeltaTable:
    try:
        return DeltaTable(str(path))
    except TableNotFoundError:
        msg = f"{path}: there is no Delta table: has the pipeline run with this folder?"
        raise OutputError(msg) from None


@frames("table")
def _of_tables(pipeline: Pipeline, folder: Path, run: str) -> RunOutput:
    return RunTables(folder, pipeline, run)
