"""A lane that silently skips records whose redelivery is an error.

Defect: a passed offset is skipped silently although the engine never resends.
How one gets it: one rule for at-least-once sources and for all others.
Expected: the error is not reported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedLane, planted


class TolerantLane(PlantedLane):
    """Always skips redelivered records."""

    @property
    def redelivered(self) -> Literal["error", "skip"]:
        """Report nothing."""
        return "skip"

    @redelivered.setter
    def redelivered(self, value: Literal["error", "skip"]) -> None:
        del value


BUG = planted_bug(
    replace(planted("redelivery_unnoticed", lane=TolerantLane), strict=True), "nothing skipped"
)
