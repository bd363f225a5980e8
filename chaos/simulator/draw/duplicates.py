"""Draw what a duplicate is, and records that are some, or only nearly."""

from __future__ import annotations

import random
from collections.abc import Iterable, MutableSequence
from typing import Any, Final

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.wish import Wish
from windowing.model.duplicates import Duplicates

_FIELDS: Final = ("g", "h", "v", "w", "x")
_WITHIN: Final = (1, 1, 2, 3, 5, 8)
_REPEATED: Final = 0.35
"""How often a record has the identity of one shortly before it."""

_BACK: Final = 6


def draw_duplicates(
    document: dict[str, Any], sources: Iterable[dict[str, Any]], clock: Clock, wish: Wish
) -> None:
    """Draw for some sources of a document what their duplicates are."""
    # Drawn apart, so that all else is as without them.
    rng = random.Random(f"duplicates {document!r}")
    if rng.random() >= wish.duplicates:
        return
    for source in sources:
        known = [name for name in _FIELDS if name in source["fields"]]
        by = rng.sample(known, rng.choice([1, 1, 2]))
        source["duplicates"] = {"by": by, "within": clock.us(rng.choice(_WITHIN))}


def repeat(
    rng: random.Random,
    rule: Duplicates,
    tick: int,
    times: MutableSequence[int],
    fields: dict[str, list[Any]],
) -> None:
    """Give records the identity of earlier ones, and some a time at the edge of `within`."""
    within = rule.within_us
    edges = (within, within, -within, within - tick, tick - within, 0)
    for at in range(1, len(times)):
        if rng.random() >= _REPEATED:
            continue
        like = rng.randrange(max(0, at - _BACK), at)
        for name in rule.by:
            fields[name][at] = fields[name][like]
        if rng.random() < 0.5:
            times[at] = times[like] + rng.choice(edges)
