"""The state of a run's lanes and shards, read from its checkpoint with Spark's state data source.

Prints one JSON object per line: `{"part": "lane 0", "table": "reached", "rows": [...]}`. A shard's
state is shown merged, so it does not depend on batches: runs of the same log agree on it, whatever
happened to them. Works while a job is running, and on a stopped one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from pyspark.sql import SparkSession

from jobs.checkpoints.checkpoint import newest, read_base, seed_of
from jobs.file_run import own_session
from windowing.engine.convert import convert
from windowing.engine.fused.settler import KNOWN_LANES
from windowing.engine.fused.settler import STATE as KNOWN_STATE
from windowing.engine.lane import STATE as LANE_STATE
from windowing.engine.plan import Plan, plan_of
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.state import MemoryStore
from windowing.engine.storage.tables import STATE as SHARD_STATE
from windowing.files.places import place
from windowing.model import Pipeline, load_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.run_errors import WindowingError
from windowing.spark.storage.seed import read_seed
from windowing.spark.storage.slots import SLOTS, number_of
from windowing.spark.storage.store import value_key, whole_values

_LANE, _SHARD = "partition", "shard"
_OF_SLOTS = {slots: column for column, slots in SLOTS.items()}
_HEAD, _LANE_HEAD, _KEYS = "head", "lane", "keys/"

Stores = dict[tuple[str, int], MemoryStore]
"""The stores of lanes and shards, by kind and number."""


def read_state(
    spark: SparkSession,
    checkpoint: Path,
    pipeline: Pipeline,
    batch: int | None = None,
    *,
    shards: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Read the tables of all lanes and shards, in order.

    Args:
        pipeline: what the run runs.
        batch: read the state at the end of this batch; None: the newest committed.
        shards: show it as this many shards would hold it; None: as it is.

    Raises:
        CheckpointMismatch: the checkpoint is another pipeline's.
        PipelineError: that number of shards is not allowed.
    """
    stores = _stores(spark, checkpoint, batch)
    if shards is not None:
        found = _converted(stores, pipeline, with_shards(pipeline, shards))
        stores, pipeline = found.stores, found.pipeline
    for (kind, number), store in sorted(stores.items()):
        if kind == _LANE:
            yield from _of_lane(f"lane {number}", store)
        else:
            yield from _of_shard(f"shard {number}", store, plan_of(pipeline))


def is_there(checkpoint: Path) -> bool:
    """Whether a checkpoint has state: a committed batch, or what it continues."""
    return (checkpoint / "commits").is_dir() or read_base(checkpoint).batch > 0


def highest(spark: SparkSession, checkpoint: Path, pipeline: Pipeline) -> dict[str, int]:
    """Return, by attribute, the largest progress of any lane or shard after the newest batch.

    Args: as for `read_state`.

    Raises:
        CheckpointMismatch: the checkpoint is another pipeline's.
    """
    # Which queries share slices has no influence on progress.
    shard, found = Shard(plan_of(pipeline)), dict[str, int]()
    for (kind, _), store in _stores(spark, checkpoint, None, heads_only=True).items():
        if kind == _SHARD:
            for attribute, us in shard.highest(store).items():
                found[attribute] = max(found.get(attribute, us), us)
    return found


def _stores(
    spark: SparkSession, checkpoint: Path, batch: int | None, *, heads_only: bool = False
) -> Stores:
    """Read the stores of all lanes and shards, by kind and number; or only their progress."""
    base = read_base(checkpoint)
    if base.batch and newest(checkpoint / "commits") < 0:
        return read_seed(seed_of(checkpoint))
    stores: Stores = {}
    _ = spark.streams.active  # starts the state store coordinator, which a reader needs too
    for operator in _operators(spark, checkpoint):
        reader = spark.read.format("statestore").option("operatorId", operator)
        reader = reader.option("stateVarName", "state")
        if batch is not None:
            reader = reader.option("batchId", batch - base.batch)
        found = reader.load(str(checkpoint))
        if heads_only:
            name = found["user_map_key.key"]
            found = found.where(name.isin(_HEAD, value_key(_HEAD)) | name.startswith(_KEYS))
        stored: dict[tuple[str, int], dict[str, bytes]] = {}
        for row in found.collect():
            of_owner = stored.setdefault(_owner(row["key"].asDict()), {})
            of_owner[row["user_map_key"]["key"]] = bytes(row["user_map_value"]["value"])
        for owner, values in stored.items():
            store = stores.setdefault(owner, MemoryStore())
            for key, value in whole_values(values).items():
                store.put(key, value)
    return stores


def _owner(key: dict[str, int]) -> tuple[str, int]:
    """Return kind and number of the lane or shard that a key of the state stands for."""
    ((column, value),) = key.items()
    return _OF_SLOTS[column], number_of(value)


@dataclass(frozen=True)
class ConvertedState:
    """A run's state, for a changed pipeline.

    Attributes:
        stores: of its lanes and of its shards.
        pipeline: the one that this state belongs to.
        digest, rows: of all that the shards hold together, the same before and after.
    """

    stores: Stores
    pipeline: Pipeline
    digest: str
    rows: int


def converted(
    spark: SparkSession, checkpoint: Path, before: Pipeline, after: Pipeline
) -> ConvertedState:
    """Convert the newest committed state of a checkpoint for another pipeline.

    Args:
        before: the pipeline that wrote it.
        after: the same, with another number of shards, or more queries.

    Raises:
        CheckpointMismatch: the pipelines differ in more than that, or the state is another one's.
    """
    return _converted(_stores(spark, checkpoint, None), before, after)


def _converted(stores: Stores, before: Pipeline, after: Pipeline) -> ConvertedState:
    numbers = [number for kind, number in sorted(stores) if kind == _LANE]
    found = convert(
        before,
        after,
        [stores[_LANE, number] for number in numbers],
        [store for (kind, _), store in sorted(stores.items()) if kind == _SHARD],
    )
    lanes = {(_LANE, number): store for number, store in zip(numbers, found.lanes, strict=True)}
    own = {(_SHARD, number): one for number, one in enumerate(found.shards)}
    return ConvertedState(lanes | own, after, found.digest, found.rows)


def _operators(spark: SparkSession, checkpoint: Path) -> list[int]:
    found = spark.read.format("state-metadata").load(str(checkpoint))
    return sorted(row["operatorId"] for row in found.select("operatorId").distinct().collect())


def _of_lane(part: str, store: MemoryStore) -> Iterator[dict[str, Any]]:
    data = store.get(_LANE_HEAD)
    if data is not None:
        state = LANE_STATE.decode(data)
        yield _line(part, "lane", [{"last_offset": state.last_offset, "clocks": state.clocks}])
    yield from _key_tables(part, store)


def _of_shard(part: str, store: MemoryStore, plan: Plan) -> Iterator[dict[str, Any]]:
    data = store.get(_HEAD)
    if data is not None:
        state = SHARD_STATE.decode(data)
        yield _line(part, "reached", [state.reached])
    yield from _key_tables(part, store)
    known = store.get(KNOWN_LANES)
    if known is not None:
        lanes = KNOWN_STATE.decode(known)
        yield _line(part, "lanes", [{"lane": n, "known": lanes[n]} for n in sorted(lanes)])
    for query, tables in sorted(Shard(plan).canonical_state(store).items()):
        for name, frame in sorted(tables.items()):
            if len(frame):
                yield _line(part, f"{query}/{name}", frame.to_dicts())


def _key_tables(part: str, store: MemoryStore) -> Iterator[dict[str, Any]]:
    for key, data in store.scan(_KEYS):
        frame: pl.DataFrame = from_bytes(data)
        yield _line(part, key, frame.sort(frame.columns).to_dicts())


def _line(part: str, table: str, rows: list[Any]) -> dict[str, Any]:
    return {"part": part, "table": table, "rows": rows}


def as_json(line: dict[str, Any]) -> str:
    """Format a line of the state as JSON, equal for equal lines."""
    return msgspec.json.Encoder(enc_hook=_plain, order="deterministic").encode(line).decode()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    raise NotImplementedError


def main() -> int:
    """Print the state of a checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--checkpoint", type=place, required=True)
    parser.add_argument("--batch", type=int, default=None)
    given = parser.parse_args()
    try:
        pipeline = load_pipeline(given.pipeline)
        with own_session("slackwater state") as spark:
            for line in read_state(spark, given.checkpoint, pipeline, given.batch):
                print(as_json(line))  # noqa: T201 - this is what it is for
    except WindowingError as error:
        print(json.dumps({"error": str(error)}))  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
