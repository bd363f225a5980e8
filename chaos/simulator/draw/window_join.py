"""Draw window joins, and what rows of any join compute, from the document of a join by distance."""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.expressions import KINDS, draw_expression
from chaos.simulator.draw.windows import draw_window
from windowing.model.types import parse_field_type

_OUTER: Final = {"inner": None, "left": "left", "right": "right", "full": "full"}
_SHARE: Final = 0.35
"""How many of the joins by distance are drawn again as window joins."""
_NEAR: Final = 0.6
"""How often most records of a window are partners, with little disorder and a long retention."""
_COMPUTED: Final = (
    *("right.at - left.ts", "left.ts", "coalesce(left.v, right.w)", "left.v div right.w"),
    *("right.w mod left.h", "CASE WHEN left.v > 0 THEN right.w div left.h END", "left.v + right.w"),
    *("substr(right.s, coalesce(left.h, 1), 1)", "right.at > left.ts OR left.v div 0 = 1"),
)


def draw_window_join(document: dict[str, Any], clock: Clock, *, always: bool) -> dict[str, Any]:
    """Return a join by distance as a window join, sometimes or always, or as it is.

    What is drawn depends on the document alone, so that all other draws are as without it.
    """
    rng = random.Random(f"window join {document!r}")
    join = dict(document["join"])
    if join["kind"] not in _OUTER or "operator" in join or (not always and rng.random() >= _SHARE):
        return document
    for side in ("left", "right"):
        join[side] = {name: part for name, part in join[side].items() if name != "window"}
    outer = _OUTER[join["kind"]]
    kind = rng.choice(("sliding", "sliding", "sliding", "cumulate"))
    window = draw_window(rng, kind, clock, number=False, wide=True, lanes=1).partition(" PATTR")[0]
    if rng.random() < 0.7:
        window = window.replace(" WATTR ts", "")
    join |= {"kind": "window", "window": window, **({} if outer is None else {"outer": outer})}
    document = {**document, "join": join}
    if rng.random() < _NEAR:
        return _near(rng, document, clock)
    if document["late"]["policy"] == "update" and rng.random() < 0.3:
        document["retention"] = {"windows": rng.choice([1, 2, 5])}
    return document


def _near(rng: random.Random, document: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """Return a window join in which most records of a window are partners, and late ones count."""
    join = document["join"] | {"equal": rng.choice([[], ["g"], ["g"]])}
    join["where"] = join["where"][:1] if rng.random() < 0.3 else []
    for side in ("left", "right"):
        source = join[side]["source"]
        if "joined" not in source:
            disorder = rng.choice(["ordered", "ordered", {"slack": clock.us(1)}])
            join[side] = {"source": {**source, "disorder": disorder}}
    mode = {"mode": "consistent"} if rng.random() < 0.25 else {}
    late = {"policy": "update", "every": clock.us(rng.choice([1, 3, 7])), **mode}
    kept = rng.choice([clock.us(rng.choice([0, 2, 15, 40])), {"windows": rng.choice([1, 2, 5])}])
    return {**document, "join": join, "late": late, "retention": kept}


def with_shown(join: dict[str, Any]) -> dict[str, Any]:
    """Return a join, at times with rows that compute something of both records."""
    rng = random.Random(f"shown {join!r}")
    if rng.random() < 0.5:
        return join
    shown = dict(join["select"])
    for place in range(rng.choice([1, 1, 2])):
        shown[f"e{place}"] = rng.choice(_COMPUTED)
    if rng.random() < 0.3:
        types = {
            f"{side}.{name}": parse_field_type(text)
            for side in ("left", "right")
            for name, text in join[side]["source"]["fields"].items()
        }
        drawn = draw_expression(rng, types, rng.choice(KINDS), depth=2)
        if "left." in drawn or "right." in drawn:  # a constant is nothing of a record
            shown["any"] = drawn
    return {**join, "select": shown}
