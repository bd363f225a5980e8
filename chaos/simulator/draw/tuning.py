"""Thresholds of the engine: often their default, often the smallest, else anything between."""

from __future__ import annotations

import random
from typing import Final

from windowing.engine.tuning import LEGAL, Tuning

_DEFAULTS: Final = Tuning()
_ALL_DEFAULT: Final = 0.15
"""How often all thresholds are what they are in production."""

_DEFAULT, _LEAST = 0.4, 0.35
"""How often one of them is, and how often it is the smallest that is legal."""


def draw_tuning(rng: random.Random, *, of_run: bool = True) -> dict[str, int]:
    """Draw thresholds; return those that do not have their default.

    Args:
        rng: decides.
        of_run: whether to draw those too that stay the same for the life of a run.
    """
    if rng.random() < _ALL_DEFAULT:
        return {}
    drawn = {name: _value(rng, name) for name, legal in LEGAL.items() if of_run or not legal.of_run}
    return {name: value for name, value in drawn.items() if value != getattr(_DEFAULTS, name)}


def _value(rng: random.Random, name: str) -> int:
    default, legal, chance = getattr(_DEFAULTS, name), LEGAL[name], rng.random()
    if chance < _DEFAULT:
        return int(default)
    if chance < _DEFAULT + _LEAST:
        return legal.least
    # On a logarithmic scale: small ones matter most, where logs are small.
    low, high = legal.least.bit_length(), default.bit_length()
    power = 1 << rng.randint(min(low, high), high) >> 1
    value = power if legal.power_of_two else rng.randint(power, 2 * power)
    return int(min(max(value, legal.least), legal.most))
