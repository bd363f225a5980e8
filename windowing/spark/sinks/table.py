"""The table sink: Delta tables, one per query and three beside them, written exactly once.

The table's folder contains `<query>/`, `dead_letters/`, `metrics/` and `tokens/`. Each commit has
the run as application, the batch as version, and a digest of the batch's token: a rewritten batch
is ignored, table by table, and another batch under the same number is refused. A batch's token is
written before its rows, and every table gets a commit per batch, possibly empty, so that each shows
the run's last batch. Neither reading nor writing needs a JVM: a batch's results are a small
fraction of its input, so the driver commits them itself (see `adr/0007`, `adr/0014`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from windowing.model import Pipeline
from windowing.runtime.token import Kept, Tables, Token, admit, due
from windowing.spark.sinks.growth import additions, check, conflicts, conformed
from windowing.spark.sinks.rows import BatchRows, schemas
from windowing.spark.sinks.sink import FolderOf, RunPlace, sink
from windowing.spark.sinks.tokens import (
    TOKEN_SCHEMA,
    TOKENS,
    Frames,
    TokenOf,
    token_of_batch,
    token_rows,
    tokens_of,
)

if TYPE_CHECKING:  # rows are also built and checked without Spark
    from pyspark.sql import DataFrame


@sink("table")
class TableSink:
    """The writer of one run's batches.

    Args:
        pipeline: the pipeline of the rows.
        folder: the table's folder.
        run: the identity of the checkpoint; another run never collides with this one.
        token_of: returns the token of a batch; None: derive it from the lanes' metrics.

    Raises:
        TableConflict: existing tables cannot take such rows; none was changed.
    """

    def __init__(
        self, pipeline: Pipeline, folder: Path, run: str, token_of: TokenOf | None = None
    ) -> None:
        self._rows, self._run, self._pipeline = BatchRows(pipeline, run), run, pipeline
        self._folder, self._token_of = folder, token_of
        check(folder, schemas_in(folder, schemas(pipeline)), schemas(pipeline))
        self._tables = {
            name: _open(folder / name, schema) for name, schema in schemas(pipeline).items()
        }
        self._tokens = _open(folder / TOKENS, TOKEN_SCHEMA)
        self._held: dict[int, Token] | None = None

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; for `foreachBatch`.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
        """
        # Spark must execute the whole batch, even if the tables already hold it.
        self.take(batch.collect(), batch_id)

    def take(self, frames: Frames, batch_id: int) -> None:
        """Write one batch's frames, each with its kind, its query and its Arrow stream.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
        """
        token = token_of_batch(self._pipeline, frames, batch_id, self._token_of)
        self._announce(token)
        rows = self._rows.tables(frames, batch_id)
        for name, table in self._tables.items():
            self._commit(name, table, rows.get(name), token)

    @classmethod
    def open(cls, place: RunPlace) -> TableSink:
        """Open the sink of a run, creating missing tables."""
        return cls(place.pipeline, place.folder, place.run, place.token_of)

    @classmethod
    def kept(cls, pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
        """Return the record of a run in the tables of a folder."""
        return kept(pipeline, folder, run, since)

    @classmethod
    def clashes(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return why the tables in a folder cannot take a pipeline's rows."""
        want = schemas(pipeline)
        return conflicts(schemas_in(folder_of(name), want), want)

    @classmethod
    def additions(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return what a pipeline adds to the tables in a folder."""
        want = schemas(pipeline)
        there = schemas_in(folder_of(name), want)
        return additions(there, want) if there else []

    @classmethod
    def newest(cls, pipeline: Pipeline) -> None:
        """Return None: the tables themselves have them."""
        del pipeline

    def _announce(self, token: Token) -> None:
        """Write the token before any row of its batch, so that tables hold only known batches."""
        place = f"{self._folder} of run {self._run}"
        held = self._around(token.batch_id) if self._held is None else self._held
        admit(token, held, place)
        if token.batch_id not in held:
            try:
                _append(self._tokens, token_rows(self._run, token), self._run, token)
                held[token.batch_id] = token
            except CommitFailedError:
                # Another driver was faster; check whether with the same batch.
                held = self._around(token.batch_id)
                admit(token, held, place)
                if token.batch_id not in held:
                    raise
        # Batch numbers only increase while a driver lives.
        self._held = {batch: kept for batch, kept in held.items() if batch >= token.batch_id - 1}

    def _around(self, batch_id: int) -> dict[int, Token]:
        """Return the run's tokens from the batch before one on, or the last if that is older."""
        self._tokens.update_incremental()
        last = self._tokens.transaction_version(self._run)
        return {} if last is None else _tokens_in(self._tokens, self._run, min(last, batch_id - 1))

    def _commit(self, name: str, table: DeltaTable, rows: pa.Table | None, token: Token) -> None:
        if self._has(name, table, token):
            return
        try:
            _append(table, rows, self._run, token)
        except CommitFailedError:
            # Another driver was faster, which is fine with the same batch. Or another run has added
            # a column meanwhile, which was read with the answer.
            if not self._has(name, table, token):
                _append(table, rows, self._run, token)

    def _has(self, name: str, table: DeltaTable, token: Token) -> bool:
        table.update_incremental()
        written, digest = _kept(table, self._run)
        place = f"table {self._folder / name} of run {self._run}"
        return due(token, place, written, digest, min(self._held or [token.batch_id])) == "pass"


def kept(pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
    """Return the tables' record of a run, without creating any.

    Args:
        pipeline: the pipeline of the tables.
        folder: the table's folder.
        run: the run.
        since: the first batch whose token is needed.
    """
    tables = {}
    for name in schemas(pipeline):
        table = _existing(folder / name)
        tables[name] = None if table is None else _kept(table, run)
    tokens = _existing(folder / TOKENS)
    return Tables(str(folder), {} if tokens is None else _tokens_in(tokens, run, since), tables)


def schemas_in(folder: Path, names: Iterable[str]) -> dict[str, pa.Schema]:
    """Return the columns of a folder's existing tables, by name, without creating any."""
    tables = {name: _existing(folder / name) for name in names}
    return {name: _schema(table) for name, table in tables.items() if table is not None}


def _append(table: DeltaTable, rows: pa.Table | None, run: str, token: Token) -> None:
    """Commit a batch's rows, possibly none, with its number and its token."""
    said = {"run": run, "batch": token.batch_id, "lanes": token.lanes, "topics": token.topics}
    properties = CommitProperties(
        app_transactions=[Transaction(run, token.batch_id), Transaction(_plan(run), token.digest)],
        custom_metadata={"slackwater": json.dumps(said)},
    )
    schema = _schema(table)
    rows = schema.empty_table() if rows is None else conformed(rows, schema)
    write_deltalake(table, rows, mode="append", commit_properties=properties)


def _plan(run: str) -> str:
    """Return the application, not a run's name, whose version is a run's last digest."""
    return f"{run}/token"


def _kept(table: DeltaTable, run: str) -> Kept:
    return Kept(table.transaction_version(run), table.transaction_version(_plan(run)))


def _tokens_in(table: DeltaTable, run: str, since: int) -> dict[int, Token]:
    filters = [("run", "=", run), ("batch_id", ">=", since)]
    return tokens_of(table.to_pyarrow_table(filters=filters).to_pylist())


def _existing(path: Path) -> DeltaTable | None:
    try:
        return DeltaTable(str(path))
    except TableNotFoundError:
        return None


def _open(path: Path, schema: pa.Schema) -> DeltaTable:
    """Open a table, creating it if missing; partitioned by run.

    A table of an older pipeline or sink gets the missing columns.
    """
    table = DeltaTable.create(path, schema, mode="ignore", partition_by=["run"])
    while additions({"": _schema(table)}, {"": schema}):
        # Another run may add a column first: check ours again.
        with suppress(CommitFailedError):
            write_deltalake(table, schema.empty_table(), mode="append", schema_mode="merge")
        table.update_incremental()
    return table


def _schema(table: DeltaTable) -> pa.Schema:
    return pa.schema(table.schema().to_arrow())
