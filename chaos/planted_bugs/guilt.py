"""What a guilty engine is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.parts import Parts
from chaos.simulator.verdict.checks import Check
from windowing.model.file.pipeline import Pipeline


@dataclass(frozen=True)
class Guilty:
    """An engine with a planted defect.

    Attributes:
        parts: the engine.
        expected: the checks that may convict it; at least one of them must.
    """

    parts: Parts
    expected: frozenset[Check]

    @property
    def name(self) -> str:
        """The engine's name, which is its module's."""
        return self.parts.name


def guilty(
    parts: Parts,
    *expected: Check,
    lair: Callable[[Pipeline], bool] | None = None,
    wish: Wish | None = None,
) -> Guilty:
    """Accuse an engine.

    Args:
        parts: the engine.
        expected: the checks that say why.
        lair: the pipelines in which the defect can show; None: all of them.
        wish: what drawn cases shall have; None: nothing special.
    """
    if lair is not None:
        parts = replace(parts, lair=lair)
    if wish is not None:
        parts = replace(parts, wish=wish)
    return Guilty(parts, frozenset(expected))
