"""Defects of rows on their way to tables: by the driver, and in files of the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.runtime.output import DATA_FILE, DEAD_LETTER, METRIC, SinkFrame
from windowing.runtime.token import Token
from windowing.spark.sinks import TableSink
from windowing.spark.sinks.data_files import DataFile, FileStage, files_of
from windowing.spark.sinks.growth import conformed

_STAGE = "windowing.spark.sinks.data_files:FileStage"
_BY_TABLES = (
    "deterministic, dead letters, conservation, sound tables, exactly once, no error, early rows"
)

IN_FILES = {"inline_result_bytes": 0}
"""Executors write all results into files."""

BY_THE_DRIVER = {"inline_result_bytes": 1 << 20}
"""All results of small logs go to the driver."""

_of, _write = FileStage.of, FileStage._write

# --- files by executors -----------------------------------------------------------------------


# Dead letters that are in a file of an executor, and go to the driver as well. How one gets it:
# what is not a result is passed on.
@planted(
    "dead_letters_in_a_file_and_sent", _BY_TABLES, at=f"{_STAGE}.of", disk=True, tuning=IN_FILES
)
def sent_as_well(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    found = _of(stage, frames)
    if any(one.kind == DATA_FILE for one in found):
        found += [one for one in frames if one.kind == DEAD_LETTER]
    return found


# Lanes' counts that are lost where a task writes files. How one gets it: names of files take the
# place of a task's frames.
@planted("files_in_place_of_counts", _BY_TABLES, at=f"{_STAGE}.of", disk=True, tuning=IN_FILES)
def without_counts(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    found = _of(stage, frames)
    files = [one for one in found if one.kind == DATA_FILE]
    return files or found


# Of a table's files, those of the last task. How one gets it: a dictionary by table, filled in a
# loop over tasks.
@planted(
    "files_of_the_last_task",
    _BY_TABLES,
    at="windowing.spark.sinks.table:files_of",
    disk=True,
    tuning=IN_FILES,
)
def of_the_last_task(frames: Sequence[SinkFrame]) -> dict[str, list[DataFile]]:
    return {table: files[-1:] for table, files in files_of(frames).items()}


# A file of which only the rows of its first kind are counted. How one gets it: a file of one
# pane or reason, as most are.
@planted(
    "files_told_by_their_first_pane",
    "sound tables",
    at=f"{_STAGE}._write",
    disk=True,
    tuning=IN_FILES,
)
def counted_by_the_first_pane(stage: FileStage, name: str, rows: pa.Table) -> DataFile:
    file = _write(stage, name, rows)
    return msgspec.structs.replace(file, portions=file.portions[:1])


# --- rows to the driver -----------------------------------------------------------------------


# Rows that a task passes on are lost in a table that another task has a file of. How one gets it:
# "files, or else rows".
@planted(
    "rows_or_files",
    _BY_TABLES,
    at="windowing.spark.sinks.table:TableSink._commit",
    disk=True,
    tuning={"inline_result_bytes": 3000},
)
def rows_or_files(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    _commit(sink, name, None if files else rows, files, token)


_commit = TableSink._commit


# Small results without lanes' counts: only what is limited is passed on. How one gets it: the
# limit is about results, and so is the list that is returned.
@planted("inline_without_counts", _BY_TABLES, at=f"{_STAGE}.of", disk=True, tuning=BY_THE_DRIVER)
def only_results(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    results = [one for one in frames if one.kind != METRIC]
    if results and sum(len(one.frame) for one in results) <= stage.inline_bytes:
        return results
    return _of(stage, frames)


# Rows of the last Arrow batch of a task. How one gets it: the batch is the loop's variable, and the
# list is made behind the loop.
@planted(
    "frames_of_the_last_arrow_batch",
    _BY_TABLES,
    at=f"{_STAGE}.__call__",
    disk=True,
    tuning=BY_THE_DRIVER,
)
def of_the_last_batch(
    stage: FileStage, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from _call(stage, iter([*batches][-1:]))


_call = FileStage.__call__


# Rows whose integers are floats in their file, as the columns with null are. How one gets it: by
# way of pandas, where an integer may not be null.
@planted(
    "integers_by_way_of_floats",
    _BY_TABLES,
    at="windowing.spark.sinks.data_files:conformed",
    disk=True,
    shows_in=some_query(computing(("sum", "min", "max", "first", "last"), "int")),
)
def by_way_of_floats(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    found = conformed(rows, schema)
    if "values" not in schema.names:
        return found
    place = schema.get_field_index("values")
    values = found["values"].combine_chunks()
    columns = [values.field(part.name) for part in values.type]
    floats = [
        column.cast(pa.float64(), safe=False).cast(column.type, safe=False)
        if column.type == pa.int64() and column.null_count
        else column
        for column in columns
    ]
    own = pa.StructArray.from_arrays(floats, fields=list(values.type))
    return found.set_column(place, schema.field(place), own)
