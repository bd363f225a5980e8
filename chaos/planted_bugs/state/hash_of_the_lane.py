"""Keys whose shard depends on their lane.

Defect: each lane hashes with its own seed.
How one gets it: a hash seeded per process, with one process per lane.
Expected: two shards each send a row of the same window and key.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, several_lanes, several_shards, some_flow
from chaos.planted_bugs.planted import Defect, PlantedLane, planted
from windowing.engine.parcel import Parcel, shard_of
from windowing.engine.state import StateStore


def salted(salt: int, keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each key, by a salted hash."""
    return (shard_of(keys, shards) + salt) % shards


class SaltedLane(PlantedLane):
    """Uses its partition as salt."""

    def step(self, store: StateStore, chunks: Sequence[Any]) -> list[Parcel]:  # noqa: D102
        salt = partial(salted, self._partition)
        with Defect((), (("windowing.engine.parcel:shard_of", salt),)).at_work():
            return super().step(store, chunks)


BUG = planted_bug(
    planted("hash_of_the_lane", lane=SaltedLane),
    "exactly once",
    "deterministic",
    "closing",
    shows_in=some_flow(keyed, several_lanes, several_shards),
)
