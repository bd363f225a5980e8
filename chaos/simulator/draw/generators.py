"""Draw generators of progress, in the syntax of pipeline files."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from chaos.simulator.draw.clock import Clock

STRINGS = ("a", "b", "")
NUMBERS = (0, 1, -3)


def draw_disorder(rng: random.Random, lanes: Sequence[str], clock: Clock) -> Any:
    """Draw a generator with a progress per lane."""
    draw: Callable[[random.Random, Sequence[str], Clock], Any] = rng.choice(
        [_slack, _slack, _slack, _rows, _heartbeat, _members, _punctuation, _adaptive]
    )
    return draw(rng, lanes, clock)


def draw_memoryless(rng: random.Random, lanes: Sequence[str], clock: Clock) -> Any:
    """Draw a generator whose bounds follow from each record alone, mostly a slack."""
    draw: Callable[[random.Random, Sequence[str], Clock], Any] = rng.choice(
        [_slack, _slack, _slack, _slack, _heartbeat, _punctuation]
    )
    return draw(rng, lanes, clock)


def draw_keyed(rng: random.Random) -> Any:
    """Draw a generator with a progress per value of `g`."""
    spellings = ["g", {"attr": "g"}]
    return rng.choice([{"ordered_per": rng.choice(spellings)}, {"punctuation": {"attr": "g"}}])


def draw_disorder_of(rng: random.Random, lanes: Sequence[str], clock: Clock) -> Any:
    """Draw a generator for a plain number, with ticks as long as those of time."""
    return rng.choice(
        [
            "ordered",
            {"slack": rng.choice([0, 2, 13]) * clock.tick_us},
            _rows(rng, lanes, clock),
            _adaptive(rng, lanes, clock),
            _members(rng, lanes, clock),
        ]
    )


def _slack(rng: random.Random, _lanes: Sequence[str], clock: Clock) -> Any:
    return rng.choice(["ordered", {"slack": clock.us(rng.choice([0, 1, 3, 8, 13]))}])


def _rows(rng: random.Random, _lanes: Sequence[str], _clock: Clock) -> Any:
    return {"slack": f"{rng.choice([0, 1, 2, 3, 7])} rows"}


def _heartbeat(rng: random.Random, lanes: Sequence[str], clock: Clock) -> Any:
    return {"heartbeat": {lane: _delays(rng, clock) for lane in lanes}}


def _delays(rng: random.Random, clock: Clock) -> dict[str, str]:
    shortest = rng.randint(0, 3)
    return {
        "max_delay": clock.us(shortest + rng.randint(0, 6)),
        "min_delay": clock.us(shortest),
        "skew": clock.us(rng.choice([0, 0, 1, 4])),
    }


def _members(rng: random.Random, lanes: Sequence[str], _clock: Clock) -> Any:
    attr, values = rng.choice([("g", STRINGS), ("h", NUMBERS)])
    members = {lane: list(values[: rng.choice([0, 1, 2, 2])]) for lane in lanes}
    return {"ordered_per": {"attr": attr, "members": members}}


def _punctuation(_rng: random.Random, _lanes: Sequence[str], _clock: Clock) -> Any:
    return "punctuation"


def _adaptive(rng: random.Random, _lanes: Sequence[str], _clock: Clock) -> Any:
    share, over = rng.choice(["0%", "10%", "34.5%", "0.5"]), rng.randint(1, 9)
    return {"adaptive": {"late": share, "over": f"{over} rows"}}
