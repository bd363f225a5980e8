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
from windowing.engine.windows.part import Tables


class KeepingShard(PlantedShard):
    """Knows of no deltas while it writes a new base, and of all of them afterwards."""

    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        held: Mapping[str, Tables],
        moved: Step,
    ) -> None:
        deltas, state.deltas = state.deltas, 0
        super()._compact(store, state, held, moved)
        state.deltas = deltas


BUG = planted_bug(
    planted("compaction_keeps_the_deltas", shard=KeepingShard),
    "deterministic",
    "exactly once",
)
