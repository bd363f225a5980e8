"""An aggregate of our own: how far the values of a field swing between its extremes."""

from __future__ import annotations

from typing import ClassVar


class Swing:
    """The largest value less the smallest, as in `python:pipelines.swing:Swing(dep_delay)`.

    The state is `[smallest, largest]`, or `[]` over no record: lists come back from a checkpoint as
    they went, tuples would not. `merge` takes the smaller and the larger of two, so neither order
    nor grouping shows; `slackwater check-aggregate pipelines.swing:Swing` tries to prove it wrong.
    """

    returns: ClassVar[str] = "float"

    def init(self) -> list[float]:
        """Nothing seen."""
        return []

    def update(self, state: list[float], value: float) -> list[float]:
        """One value more."""
        return self.merge(state, [value, value])

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """What both have seen."""
        seen = left + right
        return [min(seen), max(seen)] if seen else []

    def result(self, state: list[float]) -> float:
        """The distance of the extremes."""
        return state[1] - state[0]
