"""Draw as-of joins: a join by distance becomes one, with a draw of its own."""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.clock import Clock

_SHARE: Final = 0.35
"""How many of the joins by distance are drawn again as as-of joins."""
_NEAR: Final = 0.6
"""How often late records are of use: lanes with little disorder, and a long retention."""


def draw_asof(document: dict[str, Any], clock: Clock, *, always: bool) -> dict[str, Any]:
    """Return a join by distance as an as-of join, sometimes or always, or as it is.

    What is drawn depends on the document alone, so that all other draws are as without it.
    """
    own = random.Random(f"as-of {document!r}")
    if not always and own.random() >= _SHARE:
        return document
    join = {name: part for name, part in document["join"].items() if name != "where"}
    for side in ("left", "right"):
        join[side] = {name: part for name, part in join[side].items() if name != "window"}
    join |= {"kind": "asof", "within": clock.us(own.choice([0, 1, 2, 5, 12, 40]))}
    document = {**document, "join": join}
    if own.random() >= _NEAR:
        return document
    join["equal"] = own.choice([[], ["g"], ["g"]])
    for side in ("left", "right"):
        if "joined" not in join[side]["source"]:
            source = {
                **join[side]["source"],
                "disorder": own.choice(["ordered", "ordered", {"slack": clock.us(1)}]),
            }
            join[side] = {**join[side], "source": source}
    late = {"policy": "update", "every": clock.us(own.choice([1, 3, 7]))}
    return {**document, "late": late, "retention": clock.us(own.choice([0, 2, 15, 40]))}
