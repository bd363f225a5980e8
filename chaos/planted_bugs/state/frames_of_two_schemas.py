"""Shards whose frames have a column only where a row needs it.

Defect: `retracts` is present only in frames with a retraction.
How one gets it: every reader except the sink has a default for missing columns.
Expected: the sink fails when it concatenates the frames of two shards.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, retracting, several_shards, some_query, updates
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.columns import RETRACTS
from windowing.engine.shard import Emission, Step
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore


class SparingShard(PlantedShard):
    """Omits `retracts` where no row retracts."""

    def _emit(self, store: StateStore, state: ShardState, moved: Step, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        for query, rows in emission.results.items():
            if RETRACTS in rows.columns and not rows[RETRACTS].any():
                emission.results[query] = rows.drop(RETRACTS)


BUG = planted_bug(
    planted("frames_of_two_schemas", shard=SparingShard),
    "no error",
    shows_in=some_query(retracting, updates, keyed, several_shards),
)
