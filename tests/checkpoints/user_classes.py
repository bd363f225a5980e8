"""A user's aggregate that recorded states hold. Frozen: its source is part of what they belong to.

The recordings name it in place of the classes of `pipelines/` and of the simulator, whose words may
change.
"""

from __future__ import annotations

from typing import ClassVar


class Swing:
    """The largest value less the smallest."""

    returns: ClassVar[str] = "float"

    def init(self) -> list[float]:
        """Nothing seen."""
        return []

    def update(self, state: list[float], value: float) -> list[float]:
        """One value more."""
        return self.merge(state, [float(value)] * 2)

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """What both have seen."""
        seen = left + right
        return [min(seen), max(seen)] if seen else []

    def result(self, state: list[float]) -> float | None:
        """The distance of the extremes."""
        return state[1] - state[0] if state else None
