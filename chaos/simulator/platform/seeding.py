"""The seed of a changed pipeline: converted state, as a new checkpoint begins with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow.compute as pc

from chaos.simulator.platform.between import Between
from chaos.simulator.platform.map_state import SimulatedMap
from chaos.simulator.platform.stages import ScanningStage, begin
from chaos.simulator.platform.state import Task, Values
from chaos.simulator.platform.tasks import Tasks
from windowing.engine.storage.state import MemoryStore
from windowing.spark.storage.seed import write_seed
from windowing.spark.storage.store import MapStateStore

_COLUMNS = {"lane": "partition", "shard": "shard"}


def stored(values: Values) -> MemoryStore:
    """Return what a task has put into its state, as a stopped run is read."""
    store = MemoryStore()
    for key, value in MapStateStore(SimulatedMap(values), None).scan(""):
        store.put(key, value)
    return store


def seeded(
    tasks: Tasks, stores: Mapping[Task, MemoryStore], folder: Path, between: Between
) -> dict[Task, Values]:
    """Return the state of tasks that begin with some stores, by way of a seed's files.

    Args:
        tasks: of the changed pipeline.
        stores: what they begin with.
        folder: for the seed; does not exist.
        between: what cuts the rows of a key.
    """
    named = {(_COLUMNS[kind], number): store for (kind, number), store in stores.items()}
    write_seed(folder, named)
    found: dict[Task, Values] = {}
    for kind, column in _COLUMNS.items():
        rows = pl.read_parquet((folder / f"{column}.parquet").read_bytes()).to_arrow()
        for task in (task for task in stores if task[0] == kind):
            state, stage = SimulatedMap({}), tasks.build(task)
            assert not isinstance(stage, ScanningStage)  # noqa: S101 - which has no state
            own = rows.filter(pc.equal(rows[column], task[1])).drop_columns([column])
            begin(stage, state)
            stage.begin_with(between.sent(own.to_batches()))
            found[task] = state.snapshot()
    return found
