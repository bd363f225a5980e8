"""Random plans: where batches are cut, and which faults occur.

Only faults that can take effect are drawn, as far as that is known beforehand: a commit entry is
lost only where there is one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, get_args

from chaos.simulator.case import Failure, FailureKind, PlannedBatch, Rival
from windowing.engine.tuning import LEGAL, Tuning

_KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)
_RIVALS: Final[tuple[Rival, ...]] = get_args(Rival)
_BATCHES_MAX = 8
_LONG_FROM = 100
_CROWDED_FROM = 1000
_LONG_BATCHES = 26
# The machine's clock is measured against the scale of a pipeline, which may be any.
_WALL_UNITS = (1, 1_000_000, 1_000_000_000, 1_000_000_000_000)
_RESHARDED = 0.04
"""How often the job continues with other shards before a batch."""
_DEFAULTS: Final = Tuning()
_ALL_DEFAULT: Final = 0.15
"""How often all thresholds are what they are in production."""

_DEFAULT, _LEAST = 0.4, 0.35
"""How often one of them is, and how often it is the smallest that is legal."""


def draw_plan(rng: random.Random, sizes: Sequence[int]) -> tuple[PlannedBatch, ...]:
    """Draw a plan for a log; for a long one, mostly dozens of batches, else a few large ones.

    `sizes` are the numbers of records by partition.
    """
    trouble = rng.choice([0.0, 0.15, 0.3])
    share = rng.choice([0.3, 0.5, 0.8])
    records = sum(sizes)
    long = _LONG_FROM <= records < _CROWDED_FROM and rng.random() < 0.7
    most = 2 * _LONG_BATCHES if long else _BATCHES_MAX
    if records >= _CROWDED_FROM:
        share, most = 2.0, 2
    if records >= _LONG_FROM:
        trouble /= 4
    left, plan = list(sizes), list[PlannedBatch]()
    while any(left) and len(plan) < most:
        take = tuple(
            min(rest, rng.randint(0, max(1, 2 * size // _LONG_BATCHES)))
            if long
            else _take(rng, rest, share)
            for rest, size in zip(left, sizes, strict=True)
        )
        if not any(take):
            continue
        left = [rest - part for rest, part in zip(left, take, strict=True)]
        plan.append(_step(rng, take, trouble, first=not plan))
    return tuple(plan)


def _take(rng: random.Random, rest: int, share: float) -> int:
    """Draw the number of a partition's records in a batch; sometimes it stalls, or catches up."""
    choice = rng.random()
    if choice < 0.25:
        return 0
    if choice < 0.3:
        return rest
    return min(rest, 1 + round(rng.random() * 2 * share * rest))


def _step(
    rng: random.Random, take: tuple[int, ...], trouble: float, *, first: bool
) -> PlannedBatch:
    failures: list[Failure] = []
    while len(failures) < 3 and rng.random() < trouble:
        failures.append(Failure(rng.choice(_KINDS), rng.randint(0, 5)))
    chosen: dict[str, Any] = {}
    if rng.random() < trouble:
        chosen |= {"pieces": rng.randint(2, 4)}
    if rng.random() < trouble:
        chosen |= {"twice": rng.randint(1, 2)}
    if rng.random() < trouble:
        chosen |= {"workers": rng.randint(1, 4)}
    if rng.random() < trouble:
        chosen |= {"move": rng.randint(1, 3)}
    if rng.random() < trouble / 2:
        chosen |= {"rival": rng.choice(_RIVALS)}
    if not first:
        chosen |= _between_batches(rng, trouble)
    return PlannedBatch(
        take=take,
        order=rng.randint(0, 999),
        state_first=rng.random() < 0.5,
        failures=tuple(failures),
        wall_us=rng.choice([0, 1, 3, 10, 10]) * rng.choice(_WALL_UNITS),
        **chosen,
    )


def _between_batches(rng: random.Random, trouble: float) -> dict[str, Any]:
    """Draw the faults of a job that has committed something."""
    chosen: dict[str, Any] = {}
    if rng.random() < trouble:
        chosen |= {"rewind": rng.randint(1, 4)}
    if rng.random() < trouble:
        chosen |= {"lose_commit": True}
    if rng.random() < trouble / 2:
        chosen |= {"damage": rng.randint(0, 5)}
    if rng.random() < trouble / 2:
        chosen |= {"restore": rng.randint(1, 3)}
    if rng.random() < trouble / 2:
        chosen |= {"lose_table": rng.randint(0, 6)}
    if rng.random() < _RESHARDED:
        chosen |= {"shards": rng.randint(1, 4)}
    return chosen


def draw_tuning(rng: random.Random, *, of_run: bool = True) -> dict[str, int]:
    """Draw thresholds; return those that do not have their default.

    Without `of_run`, those that stay the same for the life of a run are left out.
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
