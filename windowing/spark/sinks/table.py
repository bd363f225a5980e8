"""The table sink: Delta tables, one per query or one for all, and three more, exactly once.

The table's folder contains `<query>/` or `results/`, `dead_letters/`, `metrics/` and `tokens/`.
Each commit has the run as application, the batch as version, and a digest of the batch's token: a
rewritten batch is ignored, table by table, and another batch under the same number is refused. A
batch's token is written before its rows, and every table gets a commit per batch, possibly empty,
so that each shows the run's last batch. Executors write the files of large results, the driver
those of small ones; only the driver commits. Neither reading nor writing needs a JVM (see
`adr/0007`, `adr/0014`, `adr/0026`, `adr/0030`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from windowing.engine.tuning import tuning
from windowing.files.table_rows import dataset_of
from windowing.model import Pipeline
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.token import NEW_RUN, Tables, Token, admit, due
from windowing.spark.memory import giving_back
from windowing.spark.sinks.data_files import (
    INLINE_SETTING,
    RUN,
    DataFile,
    FileStage,
    files_of,
    write_file,
)
from windowing.spark.sinks.growth import additions, check, conflicts
from windowing.spark.sinks.reader import FolderReader
from windowing.spark.sinks.rows import BatchRows, schemas
from windowing.spark.sinks.sink import FolderOf, RunPlace, sink
from windowing.spark.sinks.table_log import TableLog, kept_in
from windowing.spark.sinks.tokens import (
    TOKEN_SCHEMA,
    TOKENS,
    Frames,
    TokenOf,
    token_of_batch,
    token_rows,
    tokens_of,
)
from windowing.spark.sinks.written import OnWritten, ignore, written
from windowing.spark.storage.shipped import packed

if TYPE_CHECKING:  # rows are also built and checked without Spark
    from pyspark.sql import DataFrame


@sink("table")
class TableSink:
    """The writer of one run's batches.

    Args:
        run: the identity of the checkpoint; another run never collides with this one.
        token_of: returns the token of a batch; None: derive it from the lanes' metrics.
        on_written: called with each batch that is written.

    Raises:
        TableConflict: existing tables cannot take such rows; none was changed.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        folder: Path,
        run: str,
        token_of: TokenOf | None = None,
        *,
        on_written: OnWritten = ignore,
    ) -> None:
        self._rows, self._run, self._pipeline = BatchRows(pipeline, run), run, pipeline
        self._folder, self._token_of, self._on_written = folder, token_of, on_written
        self._file = packed(pipeline.text)
        want = schemas(pipeline)
        there = _existing_in(folder, [*want, TOKENS])
        check(folder, {name: _schema(there[name]) for name in want if name in there}, want)
        self._logs = {
            name: _open(folder / name, there.get(name), schema, run)
            for name, schema in want.items()
        }
        self._tokens = _open(folder / TOKENS, there.get(TOKENS), TOKEN_SCHEMA, run)
        self._held: dict[int, Token] | None = None

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; for `foreachBatch`.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
        """
        # One action, and on the whole batch even if the tables already hold it: Spark would run
        # the stateful plan once per action, and fails if a query's frame is never run.
        most = batch.sparkSession.conf.get(INLINE_SETTING, str(tuning().inline_result_bytes))
        stage = giving_back(self.file_stage(batch_id, int(most)))
        self.take(batch.mapInArrow(stage, batch.schema).collect(), batch_id)

    def file_stage(self, batch_id: int, inline_bytes: int) -> FileStage:
        """Return the executors' part of writing a batch.

        Args:
            inline_bytes: larger results of a task go into files.
        """
        found = {name: log.schema for name, log in self._logs.items()}
        return FileStage(self._file, self._run, batch_id, self._folder, found, inline_bytes)

    def take(self, frames: Frames, batch_id: int) -> None:
        """Write one batch: frames with their kind, query and bytes, and files of them.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
            UnseenFile: a file that an executor has written is invisible here.
        """
        token = token_of_batch(self._pipeline, frames, batch_id, self._token_of)
        self._announce(token)
        rows, files = self._rows.tables(frames, batch_id), files_of(frames)
        for name in self._logs:
            self._commit(name, rows.get(name), files.get(name, []), token)
        counted = (one for part in files.values() for file in part for one in file.portions)
        self._on_written(written(batch_id, rows, counted))

    def begin_behind(self, batch_id: int, queries: Collection[str]) -> None:
        """Let the tables of added queries begin behind a batch: it has no rows for them.

        Raises:
            TokenMismatch: the tables do not know the batch.
        """
        token = self._around(batch_id).get(batch_id)
        if token is None:
            msg = (
                f"table {self._folder / TOKENS} of run {self._run} has no token of batch "
                f"{batch_id}: the run is from before there were tokens, or tables were put back "
                f"from an older copy; {NEW_RUN}"
            )
            raise TokenMismatch(msg)
        for table in {self._pipeline.table_of(query) for query in queries}:
            log = self._logs[table]
            while (log.kept.batch is None or log.kept.batch < batch_id) and not log.append(
                [], token
            ):
                pass  # another run's commit was faster

    @classmethod
    def open(cls, place: RunPlace) -> TableSink:
        """Open the sink of a run, creating missing tables."""
        return cls(
            place.pipeline, place.folder, place.run, place.token_of, on_written=place.on_written
        )

    @classmethod
    def kept(cls, pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
        """Return the record of a run in the tables of a folder."""
        want = schemas(pipeline)
        there = _existing_in(folder, [*want, TOKENS])
        tables = {name: kept_in(there[name], run) if name in there else None for name in want}
        tokens = _tokens_in(there[TOKENS], run, since) if TOKENS in there else {}
        return Tables(str(folder), tokens, tables)

    @classmethod
    def reader(cls, pipeline: Pipeline, folder: Path, run: str) -> FolderReader:
        """Return the reader of a run in the tables of a folder."""
        del pipeline
        return FolderReader(folder, run)

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
    def latest(cls, pipeline: Pipeline) -> None:
        """Return None: the tables themselves have them."""
        del pipeline

    def _announce(self, token: Token) -> None:
        """Write the token before any row of its batch, so that tables hold only known batches."""
        place = f"{self._folder} of run {self._run}"
        held = self._held
        if held is None or self._is_overtaken(token):
            held = self._around(token.batch_id)
        admit(token, held, place)
        if token.batch_id not in held:
            rows = token_rows(self._run, token)
            file = write_file(self._folder, TOKENS, rows, self._tokens.schema)
            while token.batch_id not in held and not self._tokens.append([file], token):
                # Another writer was faster; if of this run, check whether with the same batch.
                held = self._around(token.batch_id)
                admit(token, held, place)
            held[token.batch_id] = token
        # Batch numbers only increase while a driver lives.
        self._held = {batch: kept for batch, kept in held.items() if batch >= token.batch_id - 1}

    def _is_overtaken(self, token: Token) -> bool:
        """Return whether another driver of the run has written the token of this batch."""
        self._tokens.catch_up()
        last = self._tokens.kept.batch
        return last is not None and last >= token.batch_id

    def _around(self, batch_id: int) -> dict[int, Token]:
        """Return the run's tokens from the batch before one on, or the last if that is older."""
        last = self._tokens.kept.batch
        if last is None:
            return {}
        table = DeltaTable(str(self._folder / TOKENS))
        return _tokens_in(table, self._run, min(last, batch_id - 1))

    def _commit(
        self, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
    ) -> None:
        """Commit a batch's rows and files to a table, unless it has them."""
        log = self._logs[name]
        log.catch_up()
        if self._has(name, token):
            return
        if rows is not None and len(rows):
            files = [*files, write_file(self._folder, name, rows, log.schema)]
        while not log.append(files, token):
            # Another driver was faster, which is fine with the same batch. Or another run has
            # written, and perhaps added a column, which is null in our files.
            if self._has(name, token):
                return

    def _has(self, name: str, token: Token) -> bool:
        written, digest = self._logs[name].kept
        place = f"table {self._folder / name} of run {self._run}"
        return due(token, place, written, digest, min(self._held or [token.batch_id])) == "pass"


def schemas_in(folder: Path, names: Iterable[str]) -> dict[str, pa.Schema]:
    """Return the columns of a folder's existing tables, by name, without creating any."""
    return {name: _schema(table) for name, table in _existing_in(folder, names).items()}


def _existing_in(folder: Path, names: Iterable[str]) -> dict[str, DeltaTable]:
    tables = {name: _existing(folder / name) for name in names}
    return {name: table for name, table in tables.items() if table is not None}


def _tokens_in(table: DeltaTable, run: str, since: int) -> dict[int, Token]:
    wanted = (pc.field("run") == run) & (pc.field("batch_id") >= since)
    return tokens_of(dataset_of(table).to_table(filter=wanted).to_pylist())


def _existing(path: Path) -> DeltaTable | None:
    try:
        return DeltaTable(str(path))
    except TableNotFoundError:
        return None


def _open(path: Path, table: DeltaTable | None, schema: pa.Schema, run: str) -> TableLog:
    """Begin a run's batches in a table, creating it if it was missing; partitioned by run.

    A table of an older pipeline or sink gets the missing columns.
    """
    if table is None:
        table = DeltaTable.create(str(path), schema, mode="ignore", partition_by=[RUN])
    while additions({"": _schema(table)}, {"": schema}):
        # Another run may add a column first: check ours again.
        with suppress(CommitFailedError):
            write_deltalake(table, schema.empty_table(), mode="append", schema_mode="merge")
        table.update_incremental()
    return TableLog(path, run, table)


def _schema(table: DeltaTable) -> pa.Schema:
    return pa.schema(table.schema().to_arrow())
