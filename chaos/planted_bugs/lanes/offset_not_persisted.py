"""A lane that does not keep its last offset.

Defect: redelivered records are applied again.
How one gets it: trusting an at-least-once source.
Expected: more records are counted than an independent reader sees; windows hold them twice.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import lanes_of
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.lane import Lane, LaneState
from windowing.engine.state import StateStore


class ForgetfulLane(Lane):
    """Treats every offset as new."""

    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        state.last_offset = -1
        return state


BUG = planted_bug(
    EngineParts("offset_not_persisted", lanes=lanes_of(ForgetfulLane)),
    "conservation",
    "deterministic",
    "exactly once",
    "dead letters",
)
