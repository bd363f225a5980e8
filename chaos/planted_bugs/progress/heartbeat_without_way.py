"""Heartbeats that ignore records still in transit.

Defect: the bound derived from an instant omits the maximum delay.
How one gets it: "it is 12:00, so everything before 12:00 has arrived".
Expected: a lane's progress is higher than heartbeats allow.
Where later bounds of the batch hide this, the rows differ.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.heartbeat import Heartbeat
from windowing.engine.wids import Ints, lowered
from windowing.model import progress


class InstantHeartbeat(Heartbeat):
    """Assumes that records arrive without delay."""

    def observed(self, instants_us: Ints) -> Ints:  # noqa: D102
        return lowered(instants_us, max(self._behind_us - 1, 0))


BUG = planted_bug(
    planted("heartbeat_without_way", InstantHeartbeat),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
    shows_in=by_generator(progress.Heartbeat),
)
