"""Early rows that advance progress and so close their windows.

Defect: progress jumps to the newest record once an early row was emitted.
How one gets it: one timer service for early and for on-time firings.
Expected: windows close early.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import early, sliding, some_query
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.progress.reached import Reached
from windowing.engine.shard import Emission, Step
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore
from windowing.engine.wids import NOTHING_YET


class ClosingShard(PlantedShard):
    """Advances with the fastest lane once an early row was emitted."""

    def _emit(self, store: StateStore, state: ShardState, moved: Step, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        if not emission.early:
            return
        for lanes in state.reached.values():
            newest = max(lane.newest_us for lane in lanes)
            if newest != NOTHING_YET:
                lanes[:] = [lane.merge(Reached(progress_us=newest)) for lane in lanes]


BUG = planted_bug(
    planted("early_rows_close", shard=ClosingShard),
    "deterministic",
    "closing",
    shows_in=some_query(sliding, early),
)
