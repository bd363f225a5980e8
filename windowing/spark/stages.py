"""The stages as Spark's workers run them, without Spark; all logic is in lanes and shards."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

import polars as pl
import pyarrow as pa

from windowing.engine.fused.scanner import PROVISIONALS, Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.lane import Lane, check_lane
from windowing.engine.plan import Plan, plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import from_bytes, in_order, to_bytes
from windowing.engine.storage.parcel import PARCELS, Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.tuning import tuning
from windowing.model import Pipeline
from windowing.model.metadata import PARTITION, TIMESTAMP, is_metadata
from windowing.model.source import PARTITIONS_MAX
from windowing.runtime.output import SinkFrame, tagged
from windowing.spark.sources.pieces import Batches, Stage
from windowing.spark.storage.shipped import packed, unpacked
from windowing.spark.storage.store import Copies

RAW_SCHEMA = "partition int, offset long, value binary, control binary, append_us long"


def raw_schema(carried: Iterable[str]) -> str:
    """Return `RAW_SCHEMA` and the columns of metadata that rows carry."""
    columns = []
    for name in carried:
        escaped = name.replace("`", "``")
        columns.append(f"`{escaped}` {'long' if name == TIMESTAMP else 'binary'}")
    return ", ".join([RAW_SCHEMA, *columns])


CHUNK_SCHEMA = "partition int, chunk binary"
PARCEL_SCHEMA = "shard int, parcel binary"
EMISSION_SCHEMA = "kind string, query string, frame binary"

CHUNKS = pa.schema([("partition", pa.int32()), ("chunk", pa.binary())])
PARCELS_SENT = pa.schema([("shard", pa.int32()), ("parcel", pa.binary())])

RulesOf = Callable[[int], ValueRules]
"""A function from a lane's number to how its values are decoded."""


@lru_cache(maxsize=256)
def _plan(file: bytes) -> Plan:
    plan = plan_of(unpacked(file))
    # It is kept, as is what was loaded for it: no need to look for garbage there after every task.
    gc.freeze()
    return plan


@lru_cache(maxsize=256)
def _rules(file: bytes) -> RulesOf:
    return rules_of(unpacked(file))


def rules_of(pipeline: Pipeline) -> RulesOf:
    """Return the rules of a pipeline's lanes; lanes of one source share them."""

    @lru_cache(maxsize=len(pipeline.source.parts))
    def of_source(first: int) -> ValueRules:
        return ValueRules.of(pipeline, first)

    @lru_cache(maxsize=PARTITIONS_MAX)
    def of_one(number: int) -> ValueRules:
        return ValueRules.of(pipeline, number)

    def of_lane(number: int) -> ValueRules:
        check_lane(pipeline.source, number)
        source, _ = pipeline.source.place(number)
        if source.control.key is not None or PARTITION in source.metadata:
            return of_one(number)  # a signature is of one lane, and so is its number
        return of_source(pipeline.source.number(source.topic, 0) or 0)

    return of_lane


def packer(text: str, secrets: Mapping[str, str] | None = None) -> Stage:
    """Return the pack stage, for `mapInArrow`: a chunk per partition and Arrow batch.

    Args:
        secrets: those of its control records (`windowing.spark.storage.shipped.packed`).
    """
    file = packed(text, secrets)

    def pack_batches(batches: Batches) -> Batches:
        return packed_rows(batches, _rules(file))

    return pack_batches


def packed_rows(batches: Batches, rules: RulesOf) -> Batches:
    """Yield the chunks of each Arrow batch of raw rows, one for each partition in it."""
    for batch in batches:
        found = list(_chunks(batch, rules))
        partitions = [partition for partition, _ in found]
        chunks = [to_bytes(chunk) for _, chunk in found]
        yield pa.RecordBatch.from_pydict({"partition": partitions, "chunk": chunks}, schema=CHUNKS)


def scanner(text: str) -> Stage:
    """Return the stage that packs chunks and scans them for the fused plan, for `mapInArrow`."""
    file = packed(text)

    def scan_batches(batches: Batches) -> Batches:
        return scanned_rows(batches, _rules(file), _scanner(file))

    return scan_batches


def scanned_rows(batches: Batches, rules: RulesOf, scans: Scanner) -> Batches:
    """Yield the messages to shards of a task's raw rows."""
    waiting = dict[int, list[pl.DataFrame]]()
    for batch in batches:
        for partition, chunk in _chunks(batch, rules):
            held = waiting.setdefault(partition, [])
            held.append(chunk)
            # Fewer chunks mean fewer messages, but a task may have any number of rows.
            if sum(map(len, held)) >= tuning().scanned_rows:
                yield _messages(scans, partition, waiting.pop(partition))
    for partition, held in waiting.items():
        yield _messages(scans, partition, held)


@lru_cache(maxsize=16)
def _scanner(file: bytes) -> Scanner:
    return Scanner(_plan(file))


def _messages(scans: Scanner, partition: int, chunks: list[pl.DataFrame]) -> pa.RecordBatch:
    """Return the messages of consecutive chunks of a lane, one per shard."""
    found = scans.scan(partition, pl.concat(chunks, rechunk=True))
    columns = {"shard": range(len(found)), "parcel": map(PROVISIONALS.encode, found)}
    arrays = {name: list(values) for name, values in columns.items()}
    return pa.RecordBatch.from_pydict(arrays, schema=PARCELS_SENT)


def _chunks(batch: pa.RecordBatch, rules: RulesOf) -> Iterator[tuple[int, pl.DataFrame]]:
    for partition, part in _by_partition(pl.DataFrame(batch)):
        ordered = in_order(part, "offset")
        carried = {name: ordered[name] for name in ordered.columns if is_metadata(name)}
        offsets, values, controls, append_us = (ordered[name] for name in _RAW_COLUMNS)
        rows = RawRows(offsets, values, controls, append_us, carried)
        yield partition, pack(rows, rules(partition))


def _by_partition(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each partition; without a copy if there is one, as in most batches."""
    found = rows["partition"].unique()
    if len(found) == 1:
        yield int(found[0]), rows
        return
    for (partition,), part in rows.group_by("partition"):
        yield int(partition), part


_RAW_COLUMNS = ("offset", "value", "control", "append_us")


class _Stage:
    """A stage over the states of its keys, which are numbers of lanes or shards.

    Attributes:
        takes: the column of the messages that it is sent.
        gives: the columns of its rows.
    """

    takes: ClassVar[str]
    gives: ClassVar[tuple[str, ...]]

    def __init__(self, text: str, *, copies: bool = False) -> None:
        self._file, self._copies = packed(text), copies

    def copies(self) -> Copies | None:
        return Copies.of_worker() if self._copies else None

    def open(self, store: Callable[[], StateStore]) -> None:
        """Prepare to process rows, with what makes the store of the current key."""
        self._store, self._plan = store, self.plan()

    def plan(self) -> Plan:
        """Return the plan, which a worker makes once for all tasks."""
        return _plan(self._file)

    def begin_with(self, values: Iterable[tuple[str, bytes]]) -> None:
        """Store a part of the current key's seed (`windowing.spark.storage.seed`)."""
        store = self._store()
        for name, value in values:
            store.put(name, bytes(value))


class LaneStage(_Stage):
    """One lane per key: from chunks to one parcel per shard.

    Args:
        copies: whether workers may keep copies of large state in files.
    """

    takes, gives = "chunk", ("shard", "parcel")

    def lane(self, number: int) -> Lane:
        """Return the lane of this number; Spark's Kafka source never resends a record."""
        return Lane(self._plan, number, redelivered="error")

    def step(self, number: int, messages: Sequence[bytes]) -> list[tuple[int, bytes]]:
        """Process all chunks of one partition in this batch; return a parcel for each shard."""
        chunks = [from_bytes(chunk) for chunk in messages]
        parcels = self.lane(number).step(self._store(), chunks)
        return [(shard, PARCELS.encode(parcel)) for shard, parcel in enumerate(parcels)]


class ShardStage(_Stage):
    """One shard per key: from all lanes' parcels of a batch to frames for the sink."""

    takes, gives = "parcel", ("kind", "query", "frame")

    def shard(self) -> Shard:
        """Return the processor of all shards, which differ only in their state."""
        return Shard(self._plan)

    def step(self, number: int, messages: Sequence[bytes]) -> list[SinkFrame]:
        """Process all messages for one shard in this batch."""
        del number
        store = self._store()
        emission = self.shard().step(store, self.parcels(store, messages), self.wall_us())
        return [*tagged(emission)]

    def wall_us(self) -> int:
        """Return the time. Read here, outside the engine; only rows outside the promise need it."""
        return time.time_ns() // 1_000

    def parcels(self, store: StateStore, data: Sequence[bytes]) -> list[Parcel]:
        """Return the lanes' parcels."""
        del store
        return [PARCELS.decode(one) for one in data]


class FusedShardStage(ShardStage):
    """One shard per key: from all scanned chunks of a batch to frames for the sink."""

    def settler(self) -> Settler:
        """Return what settles chunks; Spark's Kafka source never resends a record."""
        return Settler(self._plan, redelivered="error")

    def parcels(self, store: StateStore, data: Sequence[bytes]) -> list[Parcel]:
        """Settle the chunks."""
        return self.settler().settle(store, [PROVISIONALS.decode(one) for one in data])
