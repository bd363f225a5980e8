"""An engine with a planted bug."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.verdict.checks import SimulatorCheck
from windowing.model.file.pipeline import Pipeline


@dataclass(frozen=True)
class PlantedBug:
    """An engine with a planted bug.

    Attributes:
        parts: the engine.
        expected: the checks that may find the bug; at least one of them must.
    """

    parts: EngineParts
    expected: frozenset[SimulatorCheck]

    @property
    def name(self) -> str:
        """The bug's name, which is that of its module."""
        return self.parts.name


def planted_bug(
    parts: EngineParts,
    *expected: SimulatorCheck,
    shows_in: Callable[[Pipeline], bool] | None = None,
    wish: Wish | None = None,
) -> PlantedBug:
    """Declare a planted bug.

    Args:
        parts: the engine.
        expected: the checks that may find the bug.
        shows_in: the pipelines in which the bug can show; None: all.
        wish: constraints on drawn cases; None: none.
    """
    if shows_in is not None:
        parts = replace(parts, shows_in=shows_in)
    if wish is not None:
        parts = replace(parts, wish=wish)
    return PlantedBug(parts, frozenset(expected))
