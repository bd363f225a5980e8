"""Facts: what JSON can spell, of which a pipeline's fingerprint is made.

The names and the shape of a fact are a format: they follow no class and no attribute, and a fact
that comes later has a default, at which it is left out (`windowing.model.fingerprint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Fact = bool | int | float | str | None | Sequence["Fact"] | Mapping[str, "Fact"]
"""What JSON can spell. A mapping has no order; where order has a meaning, it is a list."""

Facts = dict[str, Fact]


def told(facts: Facts, defaults: Facts) -> Facts:
    """Leave out the facts that are as they are by default."""
    return {
        name: fact for name, fact in facts.items() if name not in defaults or fact != defaults[name]
    }


def spelled(number: Fraction | int) -> Fact:
    """Spell a number exactly: `1/1000`."""
    return number if isinstance(number, int) else f"{number.numerator}/{number.denominator}"
