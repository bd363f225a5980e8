"""Compaction that writes a new base but keeps the deltas.

Defect: merged deltas are read again.
How one gets it: deletion is left to a later clean-up.
Expected: windows hold records twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.shard import Step
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore
from windowing.engine.tables import replace
from windowing.engine.windows.part import Tables


def beside(store: StateStore, deltas: int, queries: Mapping[str, Tables]) -> None:
    """Write a new base without deleting deltas."""
    del deltas
    replace(store, 0, queries)


class KeepingShard(PlantedShard):
    """Counts merged deltas among those that are to be read."""

    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        held: Mapping[str, Tables],
        moved: Step,
    ) -> None:
        deltas = state.deltas
        super()._compact(store, state, held, moved)
        state.deltas = deltas


BUG = planted_bug(
    planted(
        "compaction_keeps_the_deltas",
        shard=KeepingShard,
        names={"windowing.engine.tables:replace": beside},
    ),
    "deterministic",
    "exactly once",
)
