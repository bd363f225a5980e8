"""What a guilty engine is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.verdict.checks import SimulatorCheck
from windowing.model.file.pipeline import Pipeline


@dataclass(frozen=True)
class PlantedBug:
    """An engine with a planted defect.

    Attributes:
        parts: the engine.
        expected: the checks that may convict it; at least one of them must.
    """

    parts: EngineParts
    expected: frozenset[SimulatorCheck]

    @property
    def name(self) -> str:
        """The engine's name, which is its module's."""
        return self.parts.name


def planted_bug(
    parts: EngineParts,
    *expected: SimulatorCheck,
    shows_in: Callable[[Pipeline], bool] | None = None,
    wish: Wish | None = None,
) -> PlantedBug:
    """Accuse an engine.

    Args:
        parts: the engine.
        expected: the checks that say why.
        shows_in: the pipelines in which the defect can show; None: all of them.
        wish: what drawn cases shall have; None: nothing special.
    """
    if shows_in is not None:
        parts = replace(parts, shows_in=shows_in)
    if wish is not None:
        parts = replace(parts, wish=wish)
    return PlantedBug(parts, frozenset(expected))
