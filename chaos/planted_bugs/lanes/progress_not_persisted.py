"""A lane that forgets its progress when it is restarted.

Defect: the checkpoint has the offsets but not the progress. After a restart nothing is late
until the lane has caught up.
How one gets it: watermark generators without state, as Flink's are.
Expected: progress of lanes falls, and late records are in revision 0.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import lanes_of
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.lane import Lane, LaneState
from windowing.engine.progress.reached import Reached
from windowing.engine.state import StateStore


class AmnesicLane(Lane):
    """Keeps its progress in memory only."""

    _loaded = False

    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        if not self._loaded:
            for clock in state.clocks.values():
                clock.reached = Reached()
        self._loaded = True
        return state


BUG = planted_bug(
    EngineParts("progress_not_persisted", lanes=lanes_of(AmnesicLane)),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
)
