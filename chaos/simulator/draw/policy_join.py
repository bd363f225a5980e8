"""Draw the policy windows of a join."""

from __future__ import annotations

import random
from typing import Any

from chaos.simulator.draw.clock import Clock

_CONSISTENT = 0.3
_LATE = ("drop", "dead_letter")
_SELECTIONS = ("", " BY lru", " BY lfu", " BY oldest")
# Partition fields, left and right.
_PARTITIONS = (
    *((None, None), ("g", None), (None, "h")),
    *(("g", "g"), ("g", "s"), ("g, h", "g, h")),
)
_NUMBERS = {"left": "v", "right": "x"}
_TIMES = {"left": "ts", "right": "at"}


def with_policies(rng: random.Random, document: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """Return the document of a join with policy windows instead of its sides' own.

    The document is that of a join by distance.
    """
    join = document["join"]
    partitions = rng.choice(_PARTITIONS)
    for (side, number), fields in zip(_NUMBERS.items(), partitions, strict=True):
        # A delta compares numbers that are never null.
        types = join[side]["source"]["fields"]
        join[side]["source"]["fields"] = types | {number: types[number].rstrip("?")}
        join[side]["window"] = _window(rng, clock, side, fields)
    kept = {name: part for name, part in document.items() if name != "retention"}
    mode = {"mode": "consistent"} if rng.random() < _CONSISTENT else {}
    late = {"policy": rng.choice(_LATE), **mode}
    return {**kept, "join": {"operator": "join", **join}, "late": late}


def _window(rng: random.Random, clock: Clock, side: str, partition: str | None) -> str:
    length = clock.us(rng.choice([1, 2, 5, 12]))
    policy = rng.choice(
        [
            f"count({rng.choice([0, 1, 2, 3, 8])})",
            f"time({length})",
            f"delta({_TIMES[side]}, {length})",
            f"delta({_NUMBERS[side]}, {rng.choice([0, 1, 3, 2.5])})",
        ]
    )
    if partition is None:
        return f"SLIDING {policy}"
    evict = ""
    if rng.random() < 0.4:
        selection = rng.choice(_SELECTIONS)
        number = rng.choice([0, 1, 2, 3])
        evict = " EVICT " + rng.choice(
            [
                f"partition_count({number}){selection}",
                f"tuple_count({number}){selection}",
                f"partition_age({length})",
            ]
        )
    return f"SLIDING {policy} PARTITIONED BY {partition}{evict}"
