"""Compaction that deletes one delta more than it merged.

Defect: the current batch's delta is deleted but is not in the base.
How one gets it: an off-by-one between an inclusive and an exclusive end.
Expected: windows hold too little.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine import tables
from windowing.engine.shard import Step
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore
from windowing.engine.windows.part import Tables


class ShortShard(PlantedShard):
    """Merges all deltas but the newest."""

    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        held: Mapping[str, Tables],
        moved: Step,
    ) -> None:
        store.delete(f"partials/delta-{state.deltas - 1:06d}")
        older = tables.read(store, self._schemas, state.deltas - 1)
        super()._compact(store, state, {name: older[name] for name in held if name in older}, moved)


BUG = planted_bug(planted("compaction_loses_the_newest_delta", shard=ShortShard), "deterministic")
