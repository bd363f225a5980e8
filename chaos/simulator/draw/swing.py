"""An aggregate as a user would write it, for drawn pipelines."""

from __future__ import annotations

from typing import ClassVar


class Swing:
    """The difference between the largest and the smallest value."""

    returns: ClassVar[str] = "float"

    def init(self) -> list[float]:
        """Return the state of no values."""
        return []

    def update(self, state: list[float], value: float) -> list[float]:
        """Add a value to a state."""
        return self.merge(state, [float(value)] * 2)

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """Merge two states."""
        seen = left + right
        return [min(seen), max(seen)] if seen else []

    def result(self, state: list[float]) -> float | None:
        """Return the difference; None without values."""
        return state[1] - state[0] if state else None


class PickySwing(Swing):
    """The same of values whose whole part is no multiple of three: others it refuses."""

    @staticmethod
    def check(value: float) -> None:
        """Refuse a value."""
        if int(value) % 3 == 0:
            msg = f"{value}: a multiple of three"
            raise ValueError(msg)
