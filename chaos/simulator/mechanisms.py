"""In how many runs each mechanism of the engine took effect, and in how many it should.

A pair of features says what was asked for; a mechanism, what rows have come through
(`windowing.engine.effects`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Final

from windowing.engine.effects import MECHANISMS, Mechanism

LEAST_PERCENT: Final = 5
"""In so many runs of a hundred each mechanism takes effect."""

USUAL_PERCENT: Final[Mapping[Mechanism, int]] = {
    "fused plan": 20,
    "files by executors": 20,
}
"""The same for those that most deployed pipelines run."""

_Z: Final = 3.0
"""Drawn runs vary: a share is too small if it is by three standard deviations.

So in fewer than 171 runs, even a mechanism that never took effect may be one of 5 %.
"""


def least_percent(mechanism: Mechanism) -> int:
    """Return in how many runs of a hundred a mechanism should take effect."""
    return USUAL_PERCENT.get(mechanism, LEAST_PERCENT)


def too_rare(met: Counter[Mechanism], runs: int) -> list[Mechanism]:
    """Return the mechanisms that took effect in too few runs to be chance."""
    return [one for one in MECHANISMS if _is_too_rare(met[one], runs, least_percent(one) / 100)]


def _is_too_rare(met: int, runs: int, share: float) -> bool:
    return met < runs * share - _Z * sqrt(runs * share * (1 - share))


def shares(met: Counter[Mechanism], runs: int) -> Iterator[str]:
    """Describe in how many runs each mechanism took effect, the rarest first."""
    listed = ", ".join(
        f"{one} {met[one] / runs:.1%}" for one in sorted(MECHANISMS, key=lambda one: met[one])
    )
    yield f"mechanisms that took effect, by share of runs: {listed}"
    for one in too_rare(met, runs):
        yield f"too rare: {one} in {met[one]} of {runs} runs, at least {least_percent(one)} %"
