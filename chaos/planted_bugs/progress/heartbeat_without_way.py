"""Heartbeats that are believed as of now, without what may still be on its way.

Defect: the bound that follows from an instant leaves out the longest delay.
How one gets it: "the clock says 12:00, so all before 12:00 is here".
Expected: a lane's progress is further than heartbeats say.
Where later bounds of the batch have overtaken it, its rows show it.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.heartbeat import Heartbeat
from windowing.engine.wids import Ints, lowered
from windowing.model.progress import disorder


class InstantHeartbeat(Heartbeat):
    """Knows of no delay."""

    def observed(self, instants_us: Ints) -> Ints:  # noqa: D102
        return lowered(instants_us, max(self._behind_us - 1, 0))


BUG = planted_bug(
    planted("heartbeat_without_way", InstantHeartbeat),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
    shows_in=by_generator(disorder.Heartbeat),
)
