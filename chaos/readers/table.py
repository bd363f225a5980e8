"""The registered readers of Delta tables: their lines, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.readers.delta import read_tables
from chaos.readers.output import Output, OutputError
from chaos.readers.reader import columns, reader
from windowing.files.places import place
from windowing.files.table_rows import dataset_of, rows_in
from windowing.model import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import TAKE_BACK


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


@columns("table")
class TableColumns:
    """The tables of one run of a pipeline, each as it was when they were opened.

    Args:
        folder: a Delta table per query, or one for all, and `dead_letters` and `metrics`.
        before: only what batches with lower numbers wrote; None: everything.

    Raises:
        OutputError: a table is missing, or none of them holds a row of this run.
    """

    def __init__(
        self, pipeline: Pipeline, folder: str | Path, run: str, before: int | None = None
    ) -> None:
        self._pipeline, self._folder, self._run = pipeline, place(folder), run
        self._before = before
        self.fates, self.fields = pipeline.source.fates, pipeline.source.fields
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

    def results(
        self, query: Flow, plain: Iterable[str], key: Mapping[str, str], values: Mapping[str, str]
    ) -> tuple[pa.Table, pa.ChunkedArray | None]:
        """Return all revisions of a query, without provisional rows and those that take back."""
        structs = {name: fields for name, fields in (("key", key), ("values", values)) if fields}
        name, plain = self._pipeline.table_of(query.name), [*plain]
        table = self._columns(name, dict.fromkeys([*plain, *query.marks, *structs]))
        wanted_rows = pc.and_(
            pc.equal(table["query"], query.name), pc.not_equal(table["pane"], "early")
        )
        for mark in TAKE_BACK:
            if mark in query.marks and mark not in plain:
                wanted_rows = pc.and_(wanted_rows, pc.is_null(table[mark]))
        table = table.filter(wanted_rows)
        found: dict[str, Any] = {name: table[name] for name in plain}
        for struct, fields in structs.items():
            type_ = table[struct].type
            there = [field.name for field in type_] if pa.types.is_struct(type_) else []
            if not {*fields} <= {*there}:  # runs of other versions may have more
                wanted, where = ", ".join(fields), self._folder / name
                msg = f"{where}: column {struct} is {type_}, and the pipeline has {wanted}"
                raise OutputError(msg)
            for field, column in fields.items():
                found[column] = pc.struct_field(table[struct], field)
        absorbed = table["absorbed_by"].is_valid() if "absorbed_by" in query.marks else None
        return pa.table(found), absorbed

    def metrics(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the run's own metrics."""
        return self._columns("metrics", names)

    def dead_letters(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the dead letters."""
        return self._columns("dead_letters", names)

    def size(self) -> int:
        """Return the number of rows, without reading them."""
        of_the_run = pc.field("run") == self._run
        if self._before is not None:
            of_the_run &= pc.field("batch_id") < self._before
        tables = [self._tables[name] for name in self._pipeline.tables]
        return sum(dataset_of(table).count_rows(filter=of_the_run) for table in tables)

    def _columns(self, name: str, names: Iterable[str]) -> pa.Table:
        table, names = rows_in(self._tables[name], run=self._run), [*names]
        if lacking := [column for column in names if column not in table.column_names]:
            where = self._folder / name
            msg = f"{where}: not a table of the sink: it has no column {', '.join(lacking)}"
            raise OutputError(msg)
        if self._before is not None:
            table = table.filter(pc.field("batch_id") < self._before)
        return table.select(names)


def _open(path: Path) -> DeltaTable:
    try:
        return DeltaTable(str(path))
    except TableNotFoundError:
        msg = f"{path}: there is no Delta table: has the pipeline run with this folder?"
        raise OutputError(msg) from None
