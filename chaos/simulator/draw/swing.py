"""Aggregates as users would write them, for drawn pipelines."""

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


class BrittleSwing:
    """The same, but it fails for values that are far apart, and in a third of its results.

    Its state has an integer of any size. What fails for some values fails with more of them, too,
    in whatever order they meet.
    """

    returns: ClassVar[str] = "float"

    def init(self) -> list[float]:
        """Return the state of no values."""
        return []

    def update(self, state: list[float], value: float) -> list[float]:
        """Add a value to a state."""
        return self.merge(state, [value, value, int(value)])

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """Merge two states."""
        if not left or not right:
            return left or right
        low, high = min(left[0], right[0]), max(left[1], right[1])
        if high - low > 2**40:
            msg = f"{low} and {high} are too far apart"
            raise ValueError(msg)
        return [low, high, left[2] + right[2]]

    def result(self, state: list[float]) -> float:
        """Return the difference, unless the sum of the whole parts is a multiple of three."""
        low, high, whole = state
        if whole % 3 == 0:
            msg = f"{whole}: a multiple of three"
            raise ArithmeticError(msg)
        return float(high - low)
