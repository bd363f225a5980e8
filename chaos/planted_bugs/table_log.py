"""Defects of tables' logs and tokens: what is named there, and what a driver knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from chaos.planted_bugs.conditions import several_lanes, some_flow, some_join
from chaos.planted_bugs.planted import planted
from windowing.runtime.token import Token
from windowing.spark.sinks import TableSink
from windowing.spark.sinks.data_files import DataFile, write_file
from windowing.spark.sinks.table_log import TableLog
from windowing.spark.sinks.tokens import Frames, token_rows

_LOG, _SINK = "windowing.spark.sinks.table_log:TableLog", "windowing.spark.sinks.table:TableSink"
_BY_TABLES = (
    "deterministic, dead letters, conservation, sound tables, exactly once, no error, early rows"
)

_append, _take, _around = TableLog.append, TableLog._take, TableSink._around

# --- logs -------------------------------------------------------------------------------------


# An entry that names the first of several files. How one gets it: a batch was one file, until
# executors wrote them.
@planted(
    "entry_names_the_first_file",
    _BY_TABLES,
    at=f"{_LOG}.append",
    disk=True,
    tuning={"inline_result_bytes": 0},
)
def of_the_first_file(log: TableLog, files: Sequence[DataFile], token: Token) -> bool:
    return _append(log, files[:1], token)


# A second driver's entries of the run are read, and its batch is not. How one gets it: the entries
# of others are those of other runs.
@planted("entries_of_the_own_run_unseen", _BY_TABLES, at=f"{_LOG}._take", disk=True)
def of_other_runs(log: TableLog, action: dict[str, Any]) -> None:
    if action.get("txn", {}).get("appId") != log._run:
        _take(log, action)


# A driver that does not look at the table again before it writes. How one gets it: whoever appends
# last knows the newest entry, and a second driver is no "whoever".
@planted("batch_written_unlooked", _BY_TABLES, at=f"{_SINK}._commit", disk=True)
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
@planted("entry_until_it_succeeds", _BY_TABLES, at=f"{_SINK}._commit", disk=True)
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
@planted("no_entry_without_rows", _BY_TABLES, at=f"{_SINK}._commit", disk=True)
def none_without_rows(
    sink: TableSink, name: str, rows: pa.Table | None, files: Sequence[DataFile], token: Token
) -> None:
    if files or (rows is not None and len(rows)):
        _commit(sink, name, rows, files, token)


_commit = TableSink._commit

# --- tokens -----------------------------------------------------------------------------------


# A batch whose token is there counts as written. How one gets it: the token is the first thing that
# is written of a batch, and was the last.
@planted("token_stands_for_the_rows", _BY_TABLES, at=f"{_SINK}.take", disk=True)
def token_in_place_of_rows(sink: TableSink, frames: Frames, batch_id: int) -> None:
    if batch_id not in _around(sink, batch_id):
        _taken(sink, frames, batch_id)


_taken = TableSink.take


# Lanes that read nothing are left out of a batch's token. How one gets it: a stretch from 5 to 4 is
# taken for a mistake.
@planted(
    "token_without_idle_lanes",
    _BY_TABLES,
    at="windowing.spark.sinks.table:token_rows",
    disk=True,
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
@planted(
    "token_of_the_first_topic",
    _BY_TABLES,
    at="windowing.spark.sinks.table:token_rows",
    disk=True,
    shows_in=some_join(),
)
def of_the_first_topic(run: str, token: Token) -> pa.Table:
    first = next(iter(token.topics.values()))
    return token_rows(run, replace(token, topics=dict.fromkeys(token.topics, first)))
