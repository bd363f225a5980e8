"""A class that the pipeline file of `test_control` names."""

from __future__ import annotations


class Range:
    """The largest value less the smallest."""

    returns = "int"

    def init(self) -> list[int]:
        return []

    def update(self, state: list[int], value: int) -> list[int]:
        return self.merge(state, [value, value])

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        both = [*left, *right]
        return [min(both), max(both)] if both else []

    def result(self, state: list[int]) -> int | None:
        return state[1] - state[0] if state else None
