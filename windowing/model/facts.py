"""Facts: the JSON values that make up a pipeline's fingerprint.

Their names and shape are a format, independent of classes and attributes. A fact that is added
later has a default, and is omitted at that default (`windowing.model.fingerprint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Fact = bool | int | float | str | None | Sequence["Fact"] | Mapping[str, "Fact"]
"""A JSON value. Mappings are unordered; lists carry order."""

Facts = dict[str, Fact]


def without_defaults(facts: Facts, defaults: Facts) -> Facts:
    """Omit the facts that have their default values."""
    return {
        name: fact for name, fact in facts.items() if name not in defaults or fact != defaults[name]
    }


def spelled(number: Fraction | int) -> Fact:
    """Return a number's exact text: `1/1000`."""
    return number if isinstance(number, int) else f"{number.numerator}/{number.denominator}"
