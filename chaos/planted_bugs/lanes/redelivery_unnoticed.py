"""A lane that skips records that can only come again by mistake.

Defect: where the engine never resends, an offset that was passed is skipped without a word.
How one gets it: one rule for sources that deliver at least once and for those that do not.
Expected: the mistake is not named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedLane, planted


class TolerantLane(PlantedLane):
    """Skips, whatever it is told."""

    @property
    def redelivered(self) -> Literal["error", "skip"]:
        """Always a no-op."""
        return "skip"

    @redelivered.setter
    def redelivered(self, value: Literal["error", "skip"]) -> None:
        del value


BUG = planted_bug(
    replace(planted("redelivery_unnoticed", lane=TolerantLane), strict=True), "nothing skipped"
)
