"""Keys whose shard depends on the process that hashes them.

Defect: after a restart or a move, a key goes to a different shard.
How one gets it: `hash()` of a string, whose seed is drawn when a process starts.
Expected: two shards each have a part of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, several_shards, some_flow
from chaos.planted_bugs.planted import Defect, PlantedLane, planted
from chaos.planted_bugs.state.hash_of_the_lane import salted
from windowing.engine.parcel import Parcel
from windowing.engine.plan import Plan
from windowing.engine.state import StateStore


class SeededLane(PlantedLane):
    """Draws a new seed at each restart."""

    _seeds = count()

    def __init__(self, defect: Defect, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(defect, plan, *args, **options)
        self._seed = next(self._seeds)

    def step(self, store: StateStore, chunks: Sequence[Any]) -> list[Parcel]:  # noqa: D102
        salt = partial(salted, self._seed)
        with Defect((), (("windowing.engine.parcel:shard_of", salt),)).at_work():
            return super().step(store, chunks)


BUG = planted_bug(
    planted("hash_of_the_process", lane=SeededLane),
    "exactly once",
    "deterministic",
    "closing",
    shows_in=some_flow(keyed, several_shards),
)
