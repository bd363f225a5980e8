"""Draw window joins, and what rows of any join compute, from the document of a join by distance."""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.expressions import KINDS, draw_expression
from chaos.simulator.draw.windows import draw_window
from windowing.model.types import parse_field_type

_OUTER: Final = {"inner": None, "left": "left", "right": "right", "full": "full"}
_COMPUTED: Final = (
    *("right.at - left.ts", "left.ts", "coalesce(left.v, right.w)", "left.v div right.w"),
    *("right.w mod left.h", "CASE WHEN left.v > 0 THEN right.w div left.h END", "left.v + right.w"),
    *("substr(right.s, coalesce(left.h, 1), 1)", "right.at > left.ts OR left.v div 0 = 1"),
)


def draw_window_join(rng: random.Random, document: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """Return the document of a window join.

    The document is that of a join by distance.
    """
    join = dict(document["join"])
    for side in ("left", "right"):
        join[side] = {"source": join[side]["source"]}
    outer = _OUTER[join["kind"]]
    window = draw_window(rng, "sliding", clock, number=False, wide=True, lanes=1)
    if rng.random() < 0.7:
        window = window.replace(" WATTR ts", "")
    join |= {"kind": "window", "window": window, **({} if outer is None else {"outer": outer})}
    return {**document, "join": join}


def draw_shown(document: dict[str, Any]) -> None:
    """Have rows of a join compute something of both records."""
    # Drawn apart, so that all else is as without it.
    rng = random.Random(f"shown {document!r}")
    join = document["join"]
    if rng.random() < 0.5:
        return
    shown = dict(join["select"])
    for place in range(rng.choice([1, 1, 2])):
        shown[f"e{place}"] = rng.choice(_COMPUTED)
    if rng.random() < 0.3:
        types = {
            f"{side}.{name}": parse_field_type(text)
            for side in ("left", "right")
            for name, text in join[side]["source"]["fields"].items()
        }
        shown["any"] = draw_expression(rng, types, rng.choice(KINDS), depth=2)
    join["select"] = shown
