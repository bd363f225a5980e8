"""A shard that takes the fastest lane's progress for the stream's.

Defect: the maximum of the lanes' progress instead of the minimum.
How one gets it: one watermark from the largest time seen in any partition, as Spark's is.
Expected: windows close before the stream has reached their end.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.parcel import Parcel
from windowing.engine.shard import Shard
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore


class HurriedShard(Shard):
    """Advances all lanes with the fastest."""

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            quickest = max(lanes, key=lambda lane: lane.progress_us)
            lanes[:] = [quickest] * len(lanes)


BUG = planted_bug(
    EngineParts("quickest_lane_decides", shard=HurriedShard), "closing", "deterministic"
)
