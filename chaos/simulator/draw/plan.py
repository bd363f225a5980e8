"""Random plans: where the batches are cut, and what goes wrong on the way.

Only faults that can take effect are drawn, as far as that is known beforehand: a commit entry is
lost only where there is one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, get_args

from chaos.simulator.case import Failure, FailureKind, Step

_KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)


def draw_plan(rng: random.Random, sizes: Sequence[int]) -> tuple[Step, ...]:
    """Draw a plan for a log.

    Args:
        rng: the source of every choice.
        sizes: how many records each partition has.
    """
    trouble = rng.choice([0.0, 0.2, 0.4])
    share = rng.choice([0.25, 0.4, 0.8])
    left, plan = list(sizes), list[Step]()
    while any(left) and len(plan) < 12:
        take = tuple(_take(rng, rest, share) for rest in left)
        if not any(take):
            continue
        left = [rest - part for rest, part in zip(left, take, strict=True)]
        plan.append(_step(rng, take, trouble, first=not plan))
    return tuple(plan)


def _take(rng: random.Random, rest: int, share: float) -> int:
    """How much of a partition comes in a batch; now and then it stalls, or catches up."""
    choice = rng.random()
    if choice < 0.25:
        return 0
    if choice < 0.3:
        return rest
    return min(rest, 1 + round(rng.random() * 2 * share * rest))


def _step(rng: random.Random, take: tuple[int, ...], trouble: float, *, first: bool) -> Step:
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
    if not first:
        if rng.random() < trouble:
            chosen |= {"rewind": rng.randint(1, 4)}
        if rng.random() < trouble:
            chosen |= {"lose_commit": True}
        if rng.random() < trouble / 3:
            chosen |= {"damage": rng.randint(0, 5)}
    return Step(
        take=take,
        order=rng.randint(0, 999),
        state_first=rng.random() < 0.5,
        failures=tuple(failures),
        **chosen,
    )
