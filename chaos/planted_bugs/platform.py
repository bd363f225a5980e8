"""Defects of the job, its sinks, its checkpoint and its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import msgspec
import polars as pl
import pyarrow as pa

from chaos.planted_bugs.conditions import (
    keyed,
    retracting,
    several_shards,
    some_flow,
    some_join,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted
from chaos.simulator.case import Failure, PlannedBatch
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.cluster import HeldState, SimulatedCluster
from chaos.simulator.platform.job import DEAD, SimulatedJob, Tables
from chaos.simulator.platform.sink import Ends, SimulatedSink, TableItem
from chaos.simulator.platform.start import StartCheck, compare
from chaos.simulator.platform.state import StateDamaged, StateFiles, Task, Values, _Delta
from windowing.runtime.output import SinkFrame
from windowing.spark.sinks.rows import BatchRows
from windowing.spark.sinks.tokens import Frames


# A sink that appends every batch, also reruns. How one gets it: `foreachBatch` with a plain
# append; a producer without transactions. If a batch emits only counts, the duplicate shows in
# them alone.
@planted("at_least_once_sink", "exactly once, dead letters, conservation")
class AppendingSink(SimulatedSink):
    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        del token
        self.tables[table] += items


# A job that commits a batch before it writes its rows. How one gets it: consumer offsets that are
# committed on a timer (`enable.auto.commit`).
@planted("commit_before_sink", "deterministic, dead letters, conservation")
class HastyJob(SimulatedJob):
    def conclude(self, batch: int, attempt: int, tables: Tables, *, state_first: bool) -> None:
        del state_first
        self.commit_states()
        self.commits = batch + 1
        self.write_sink(batch, self.token(batch, attempt), tables)


# A sink that writes dead letters only in the first attempt at a batch. How one gets it: a side
# output that is flushed by the first attempt and suppressed on recovery.
@planted("dead_letters_once_lost", "dead letters")
class FirstAttemptJob(SimulatedJob):
    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        if len(self.history.attempts[batch]) > 1:
            tables = {table: lines for table, lines in tables.items() if table != DEAD}
        super().write_sink(batch, token, tables)


# A sink that writes rows once, but dead letters per attempt. How one gets it: a logger.
@planted("dead_letters_per_attempt", "dead letters")
class LoggingSink(SimulatedSink):
    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        if table == DEAD:
            self.tables[table] += items
            return
        super().write(table, token, items)


# State files whose deltas record puts, but not deletes. How one gets it: a delta as a map of
# changed values.
@planted("deleted_state_comes_back", "deterministic, repeatable", wish=Wish(long=0.5))
class PuttingFiles(StateFiles):
    def apply(self, name: str, values: Values) -> None:
        values.update(msgspec.msgpack.decode(self.read(name), type=_Delta).puts)


# A job that replaces a lost table by an empty one and continues. How one gets it:
# `CREATE TABLE IF NOT EXISTS`.
@planted("lost_table_unnoticed", "nothing skipped", at="chaos.simulator.platform.job:compare")
def unmoved(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> StartCheck:
    return StartCheck(compare(planned, commits, tables, plans).follow, ())


# The offsets of a batch are not written ahead. A rerun of the batch takes more of the log than
# before; the sink, which knows the batch, ignores the new records. How one gets it: "read
# whatever is there" on recovery, with a sink that is idempotent by batch id.
@planted("offsets_not_logged", "deterministic, dead letters, conservation, repeatable")
class ForgetfulJob(SimulatedJob):
    def attempt(
        self, batch: int, attempt: int, step: PlannedBatch, failure: Failure | None
    ) -> None:
        if attempt and batch == len(self.planned) - 1:
            sizes = [len(rows.offsets) for rows in self.log]
            ends = zip(self.planned[batch], sizes, strict=True)
            self.planned[batch] = tuple(min(end + 2, size) for end, size in ends)
        super().attempt(batch, attempt, step, failure)


# New batches get ids that the tables already have, with other cuts; the tables know the ids and
# ignore the new rows. How one gets it: `written >= batch_id`, and a backup.
@planted(
    "old_checkpoint_plans_anew",
    "deterministic, conservation, dead letters",
    at="chaos.simulator.platform.job:compare",
)
def blind(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> StartCheck:
    return StartCheck((), compare(planned, commits, tables, plans).behind)


# A table sink that names lanes after the first topic. How one gets it: `f"{topic}/{number}"`,
# from when there was one topic.
@planted(
    "sink_names_lanes_by_number",
    "deterministic",
    at="chaos.simulator.platform.spelling:BatchRows",
    shows_in=some_join(),
)
class OneTopicRows(BatchRows):
    def _offsets(self, offsets: pl.Series) -> pa.Array:
        first, _ = self._pipeline.source.place(0)
        by_number = {number: f"{first.topic}/{number}" for number in self._lanes}
        with patch.object(self, "_lanes", by_number):
            return super()._offsets(offsets)


# A sink that writes only the rows of the last shard. How one gets it: a dictionary by query,
# filled in a loop over shards.
@planted("sink_takes_one_shard", "deterministic", shows_in=some_flow(keyed, several_shards))
class LastShardJob(SimulatedJob):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        whole = self._spelled

        def of_the_last(shards: Sequence[Frames], batch: int) -> Tables:
            tables = whole(shards, batch)
            for frames in shards:
                own = whole([frames], batch).items()
                tables |= {name: lines for name, lines in own if lines and "query" in name}
            return tables

        self._spelled = of_the_last


# A table sink that writes retractions like any other row. How one gets it: a column added later
# to the schema, but not to the rows.
@planted(
    "sink_without_marks",
    "deterministic, exactly once",
    at="chaos.simulator.platform.spelling:BatchRows",
    shows_in=some_query(retracting, updates),
)
class PlainRows(BatchRows):
    def tables(self, frames: Sequence[SinkFrame], batch_id: int) -> dict[str, pa.Table]:
        tables = super().tables(frames, batch_id)
        for name, table in tables.items():
            if "op" in table.column_names:
                place = table.column_names.index("op")
                nothing = pa.nulls(len(table), pa.string())
                tables[name] = table.set_column(place, "op", nothing)
        return tables


# State files that skip unreadable deltas. How one gets it: a catch-all around reading a state
# file; "best effort" recovery.
@planted("skipped_corrupt_delta", "nothing skipped")
class LenientFiles(StateFiles):
    def apply(self, name: str, values: Values) -> None:
        try:
            super().apply(name, values)
        except StateDamaged:
            return


# A worker that uses the state in its memory, whatever its version. How one gets it: a cache keyed
# by task instead of by task and version.
@planted("stale_state", "deterministic, conservation, dead letters, repeatable, progress, closing")
class TrustingCluster(SimulatedCluster):
    def usable(self, held: HeldState, version: int) -> bool:
        del held, version
        return True


# State files that give one task the state of another. How one gets it: a state store keyed by the
# task's number in its stage.
@planted(
    "state_of_another_shard",
    "deterministic, nothing skipped",
    shows_in=some_flow(keyed, several_shards),
)
class MixedFiles(StateFiles):
    def load(self, task: Task, version: int) -> Values:
        return super().load(("shard", 0) if task == ("shard", 1) else task, version)


# State files whose newest delta is not applied. How one gets it: an exclusive range where an
# inclusive one is meant.
@planted("state_one_version_behind", "no error, deterministic, conservation, progress, repeatable")
class LateFiles(StateFiles):
    def load(self, task: Task, version: int) -> Values:
        return super().load(task, max(version - 1, 0))


# A sink whose token is ahead of what it has written. How one gets it: "the next batch to write"
# in one place and "the last one written" in another.
@planted("token_ahead", "conservation, deterministic, dead letters")
class AheadSink(SimulatedSink):
    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        if self.tokens.get(table, -1) >= token:
            return
        super().write(table, token, items)
        self.tokens[table] = token + 1


# Token and rows are two transactions. A job that dies in between finds the token when it
# restarts, and skips the batch. How one gets it: an idempotence table beside the data, in another
# store.
@planted("token_before_rows", "deterministic, dead letters, conservation", sink=AppendingSink)
class NotingJob(SimulatedJob):
    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        noted = self.sink.tokens
        due = {name: lines for name, lines in tables.items() if noted.get(name, -1) < token}
        noted.update(dict.fromkeys(due, token))
        super().write_sink(batch, token, due)


# A sink with one token for all its tables. How one gets it: a token per sink, checked table by
# table.
@planted("token_of_all_tables", "deterministic, conservation, dead letters")
class OneTokenSink(SimulatedSink):
    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        if max(self.tokens.values(), default=-1) >= token:
            return
        super().write(table, token, items)


# The sink identifies a batch by a number that changes with each attempt. Once the job has died
# between sink and commit, the same rows arrive under a new number. How one gets it: a batch id
# from an in-memory counter, a clock or a UUID instead of the checkpoint. If a batch emits only
# counts, the duplicate shows in them alone.
@planted("token_per_attempt", "exactly once, dead letters, conservation")
class CountingJob(SimulatedJob):
    _drawn = 0

    def token(self, batch: int, attempt: int) -> int:
        del batch, attempt
        self._drawn += 1
        return self._drawn
