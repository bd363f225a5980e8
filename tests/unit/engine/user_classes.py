"""Users' aggregates, good and bad, for the tests."""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar


class Span:
    """Largest less smallest, and the texts' total length: a state of several plain values."""

    returns: ClassVar[str] = "string"

    def init(self) -> dict[str, Any]:
        return {"seen": [], "letters": 0}

    def update(self, state: dict[str, Any], value: int, text: str) -> dict[str, Any]:
        return self.merge(state, {"seen": [value, value], "letters": len(text)})

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        seen = [*left["seen"], *right["seen"]]
        ends = [min(seen), max(seen)] if seen else []
        return {"seen": ends, "letters": left["letters"] + right["letters"]}

    def result(self, state: dict[str, Any]) -> str:
        low, high = state["seen"]
        return f"{high - low}/{state['letters']}"


class InOrder(Span):
    """Depends on the order: the last value that was merged wins."""

    returns: ClassVar[str] = "int"

    def init(self) -> list[int]:  # type: ignore[override]
        return []

    def update(self, state: list[int], value: int) -> list[int]:  # type: ignore[override]
        return [value]

    def merge(self, left: list[int], right: list[int]) -> list[int]:  # type: ignore[override]
        return right or left

    def result(self, state: list[int]) -> int | None:  # type: ignore[override]
        return state[0] if state else None


class PlainSum:
    """Adds doubles: independent of the order for two of them, but not for three."""

    returns: ClassVar[str] = "float"

    def init(self) -> float:
        return 0.0

    def update(self, state: float, value: float) -> float:
        return state + value

    def merge(self, left: float, right: float) -> float:
        return left + right

    def result(self, state: float) -> float:
        return state


class Keeping:
    """Its state is a set, which is no plain value."""

    returns: ClassVar[str] = "int"

    def init(self) -> set[int]:
        return set()

    def update(self, state: set[int], value: int) -> set[int]:
        return state | {value}

    def merge(self, left: set[int], right: set[int]) -> set[int]:
        return left | right

    def result(self, state: set[int]) -> int:
        return len(state)


class Failing(InOrder):
    """Its result is an error."""

    def result(self, state: list[int]) -> int:  # type: ignore[override]
        return 1 // 0


class PlainIntSum:
    """Adds integers: independent of the order within 64 bits."""

    returns: ClassVar[str] = "int"

    def init(self) -> int:
        return 0

    def update(self, state: int, value: int) -> int:
        return state + value

    def merge(self, left: int, right: int) -> int:
        return left + right

    def result(self, state: int) -> int:
        return state


class FailingMerge(PlainIntSum):
    """Can only be folded."""

    def merge(self, left: int, right: int) -> int:
        raise NotImplementedError


class Endless(PlainIntSum):
    """Loops forever, in a call that hears nothing."""

    def update(self, state: int, value: int) -> int:
        return sum(range(10**15))


class Quitting(PlainIntSum):
    """Ends its process."""

    def merge(self, left: int, right: int) -> int:
        os._exit(7)


class Leaving(PlainIntSum):
    """Asks its process to end."""

    def update(self, state: int, value: int) -> int:
        sys.exit(7)


class Misspelt(PlainIntSum):
    """Has an annotation that names nothing."""

    def update(self, state: int, value: integer) -> int:  # type: ignore[name-defined]  # noqa: F821
        return state + value


class Odd(InOrder):
    """Gives a truth value where it says int."""

    def result(self, state: list[int]) -> bool:  # type: ignore[override]
        return True


class Unfinished:
    """Lacks merge and result."""

    returns: ClassVar[str] = "int"

    def init(self) -> int:
        return 0

    def update(self, state: int, value: int) -> int:
        return state + value


class Untyped(InOrder):
    """Says that it returns what it does not."""

    returns: ClassVar[str] = "list"


class Text(Span):
    """The texts in the order of the alphabet, joined."""

    def init(self) -> list[str]:  # type: ignore[override]
        return []

    def update(self, state: list[str], value: str) -> list[str]:  # type: ignore[override]
        return sorted([*state, value])

    def merge(self, left: list[str], right: list[str]) -> list[str]:  # type: ignore[override]
        return sorted(left + right)

    def result(self, state: list[str]) -> str:  # type: ignore[override]
        return "|".join(state)
