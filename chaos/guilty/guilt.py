"""What a guilty engine is."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.simulator.checks import Check
from chaos.simulator.parts import Parts


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


def guilty(parts: Parts, *expected: Check) -> Guilty:
    """Accuse an engine."""
    return Guilty(parts, frozenset(expected))
