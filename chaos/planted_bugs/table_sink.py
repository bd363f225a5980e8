"""Defects of the table sink: its logs and tokens, and the files that executors write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from chaos.planted_bugs.conditions import computing, several_lanes, some_flow, some_join, some_query
from chaos.planted_bugs.planted import planted
from windowing.runtime.output import DATA_FILE, DEAD_LETTER, METRIC, SinkFrame
from windowing.runtime.token import Token
from windowing.spark.sinks import TableSink
from windowing.spark.sinks.data_files import DataFile, FileStage, files_of, write_file
from windowing.spark.sinks.growth import conformed
from windowing.spark.sinks.table_log import TableLog
from windowing.spark.sinks.tokens import Frames, token_rows

_LOG, _SINK = "windowing.spark.sinks.table_log:TableLog", "windowing.spark.sinks.table:TableSink"
_BY_TABLES = (
    "deterministic, dead letters, conservation, sound tables, exactly once, no error, early rows"
)

_append, _take, _around = TableLog.append, TableLog._take, TableSink._around

# --- logs -------------------------------------------------------------------------------------


planted_on_disk = partial(planted, disk=True, expected=_BY_TABLES)


# An entry that names the first of several files. How one gets it: a batch was one file, until
# executors wrote them.
@planted_on_disk(
    "entry_names_the_first_file", at=f"{_LOG}.append", tuning={"inline_result_bytes": 0}
)
def of_the_first_file(log: TableLog, files: Sequence[DataFile], token: Token) -> bool:
    return _append(log, files[:1], token)


# A second driver's entries of the run are read, and its batch is not. How one gets it: the entries
# of others are those of other runs.
@planted_on_disk("entries_of_the_own_run_unseen", at=f"{_LOG}._take")
def of_other_runs(log: TableLog, action: dict[str, Any]) -> None:
    if action.get("txn", {}).get("appId") != log._run:
        _take(log, action)


# A driver that does not look at the table again before it writes. How one gets it: whoever appends
# last knows the newest entry, and a second driver is no "whoever".
@planted_on_disk("batch_written_unlooked", at=f"{_SINK}._commit")
def unlooked(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    log = sink._logs[name]
    if rows is not None and len(rows):
        files = [*files, write_file(sink._folder, name, rows, log.schema)]
    while not log.append(files, token):
        pass


# An entry that is written again once another driver was faster, whatever that one wrote. How one
# gets it: a loop until it succeeds.
@planted_on_disk("entry_until_it_succeeds", at=f"{_SINK}._commit")
def until_it_succeeds(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    log = sink._logs[name]
    log.catch_up()
    if sink._has(name, token):
        return
    if rows is not None and len(rows):
        files = [*files, write_file(sink._folder, name, rows, log.schema)]
    while not log.append(files, token):
        pass


# A batch without rows leaves no entry. How one gets it: nothing to write, nothing to do.
@planted_on_disk("no_entry_without_rows", at=f"{_SINK}._commit")
def none_without_rows(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    if files or (rows is not None and len(rows)):
        _commit(sink, name, rows, files, token)


_commit = TableSink._commit

# --- tokens -----------------------------------------------------------------------------------


# A batch whose token is there counts as written. How one gets it: the token is the first thing that
# is written of a batch, and was the last.
@planted_on_disk("token_stands_for_the_rows", at=f"{_SINK}.take")
def token_in_place_of_rows(sink: TableSink, frames: Frames, batch_id: int) -> None:
    if batch_id not in _around(sink, batch_id):
        _taken(sink, frames, batch_id)


_taken = TableSink.take


# Lanes that read nothing are left out of a batch's token. How one gets it: a stretch from 5 to 4 is
# taken for a mistake.
@planted_on_disk(
    "token_without_idle_lanes",
    at="windowing.spark.sinks.table:token_rows",
    shows_in=some_flow(several_lanes),
)
def without_idle_lanes(run: str, token: Token) -> pa.Table:
    rows = token_rows(run, token)
    kept = [
        row["lane"] is None or row["first_offset"] <= row["last_offset"] for row in rows.to_pylist()
    ]
    return rows.filter(pa.array(kept)) if any(kept) else rows


# Tokens with the id of the first topic in all lanes. How one gets it: a batch is of "the topic",
# from when there was one.
@planted_on_disk(
    "token_of_the_first_topic", at="windowing.spark.sinks.table:token_rows", shows_in=some_join()
)
def of_the_first_topic(run: str, token: Token) -> pa.Table:
    first = next(iter(token.topics.values()))
    return token_rows(run, replace(token, topics=dict.fromkeys(token.topics, first)))


_STAGE = "windowing.spark.sinks.data_files:FileStage"
IN_FILES = {"inline_result_bytes": 0}
"""Executors write all results into files."""

BY_THE_DRIVER = {"inline_result_bytes": 1 << 20}
"""All results of small logs go to the driver."""

_of, _write = FileStage.of, FileStage._write

# --- files by executors -----------------------------------------------------------------------


# Dead letters that are in a file of an executor, and go to the driver as well. How one gets it:
# what is not a result is passed on.
@planted_on_disk("dead_letters_in_a_file_and_sent", at=f"{_STAGE}.of", tuning=IN_FILES)
def sent_as_well(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    found = _of(stage, frames)
    if any(one.kind == DATA_FILE for one in found):
        found += [one for one in frames if one.kind == DEAD_LETTER]
    return found


# Lanes' counts that are lost where a task writes files. How one gets it: names of files take the
# place of a task's frames.
@planted_on_disk("files_in_place_of_counts", at=f"{_STAGE}.of", tuning=IN_FILES)
def without_counts(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    found = _of(stage, frames)
    files = [one for one in found if one.kind == DATA_FILE]
    return files or found


# Of a table's files, those of the last task. How one gets it: a dictionary by table, filled in a
# loop over tasks.
@planted_on_disk(
    "files_of_the_last_task", at="windowing.spark.sinks.table:files_of", tuning=IN_FILES
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
@planted_on_disk(
    "rows_or_files",
    at="windowing.spark.sinks.table:TableSink._commit",
    tuning={"inline_result_bytes": 3000},
)
def rows_or_files(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    _commit(sink, name, None if files else rows, files, token)


# Small results without lanes' counts: only what is limited is passed on. How one gets it: the
# limit is about results, and so is the list that is returned.
@planted_on_disk("inline_without_counts", at=f"{_STAGE}.of", tuning=BY_THE_DRIVER)
def only_results(stage: FileStage, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
    results = [one for one in frames if one.kind != METRIC]
    if results and sum(len(one.frame) for one in results) <= stage.inline_bytes:
        return results
    return _of(stage, frames)


# Rows of the last Arrow batch of a task. How one gets it: the batch is the loop's variable, and the
# list is made behind the loop.
@planted_on_disk("frames_of_the_last_arrow_batch", at=f"{_STAGE}.__call__", tuning=BY_THE_DRIVER)
def of_the_last_batch(
    stage: FileStage, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from _call(stage, iter([*batches][-1:]))


_call = FileStage.__call__


# Rows whose integers are floats in their file, as the columns with null are. How one gets it: by
# way of pandas, where an integer may not be null.
@planted_on_disk(
    "integers_by_way_of_floats",
    at="windowing.spark.sinks.data_files:conformed",
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
