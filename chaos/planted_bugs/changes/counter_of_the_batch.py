"""A lane that knows the counters of a batch, and not those before it.

Defect: the counter is not part of the state.
How one gets it: counters are compared where a batch is read.
Expected: what was believed in one batch is believed again in the next.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import with_lane
from chaos.planted_bugs.planted import PlantedLane
from windowing.engine.lane import LaneState
from windowing.engine.state import StateStore


class Forgetful(PlantedLane):
    """Begins each batch without a counter."""

    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        state.counter = -1
        return state


BUG = planted_bug(
    with_lane("counter_of_the_batch", Forgetful),
    *("dead letters", "deterministic", "conservation", "progress", "closing"),
)
