"""A shard that waits only for lanes already seen.

Defect: a partition without records so far holds nothing back; when its first records come, their
windows are closed.
How one gets it: idle sources are left out of the minimum (`withIdleness`).
Expected: windows close before the stream has reached their end.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.parcel import Parcel
from windowing.engine.progress.reached import Reached
from windowing.engine.shard import Shard
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore
from windowing.engine.wids import NOTHING_YET


class ImpatientShard(Shard):
    """Gives silent lanes the progress of the slowest other lane."""

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            known = [lane for lane in lanes if lane.progress_us != NOTHING_YET]
            least = min(known, key=lambda lane: lane.progress_us, default=Reached())
            lanes[:] = [least if lane.progress_us == NOTHING_YET else lane for lane in lanes]


BUG = planted_bug(
    EngineParts("silent_lane_ignored", shard=ImpatientShard), "closing", "deterministic"
)
