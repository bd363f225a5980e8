"""A seed: the state that a new checkpoint begins with, as files beside Spark's own.

Spark gives it to the stages in the checkpoint's first batch, which stores it with what the batch
itself changes; from then on it is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from windowing.engine.storage.state import MemoryStore
from windowing.files.places import write_new

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Stores = Mapping[tuple[str, int], MemoryStore]
"""The stores of lanes and shards, by column of their numbers (`partition`, `shard`) and number."""

_KINDS = ("partition", "shard")


def write_seed(folder: Path, stores: Stores) -> None:
    """Write a seed into a folder that does not exist yet."""
    folder.mkdir(parents=True)
    for kind in _KINDS:
        rows = [
            (number, key, value)
            for (one, number), store in sorted(stores.items())
            for key, value in store.scan("")
            if one == kind
        ]
        schema = {kind: pl.Int32, "key": pl.String, "value": pl.Binary}
        content = BytesIO()
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(content)
        write_new(_file(folder, kind), content.getvalue())


def read_seed(folder: Path) -> dict[tuple[str, int], MemoryStore]:
    """Return the stores of a seed."""
    stores: dict[tuple[str, int], MemoryStore] = {}
    for kind in _KINDS:
        for number, key, value in pl.read_parquet(_file(folder, kind).read_bytes()).iter_rows():
            stores.setdefault((kind, number), MemoryStore()).put(key, value)
    return stores


def seed_rows(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """Return a seed for `windowing.spark.plan.emissions`: its rows, by column of the numbers."""
    return {kind: spark.read.parquet(str(_file(folder, kind))) for kind in _KINDS}


def _file(folder: Path, kind: str) -> Path:
    return folder / f"{kind}.parquet"
