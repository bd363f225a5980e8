"""Heartbeats that count a clock's error once where it counts twice.

Defect: a slack of L - l + s for L - l + 2 s: the error of the record that was seen is forgotten.
How one gets it: the formula of a receiver with a clock, used without one.
Expected: a lane's progress is further than its records say.
Where later bounds of the batch have overtaken it, its rows show it.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.heartbeat import Heartbeat
from windowing.model.progress import disorder
from windowing.model.progress.disorder import Delays


class OnceHeartbeat(Heartbeat):
    """Takes the skew off once."""

    def __init__(self, delays: Delays) -> None:
        super().__init__(delays)
        self._own_us -= delays.skew_us


BUG = planted_bug(
    planted("skew_counted_once", names={"windowing.engine.progress:Heartbeat": OnceHeartbeat}),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
    shows_in=by_generator(disorder.Heartbeat),
)
