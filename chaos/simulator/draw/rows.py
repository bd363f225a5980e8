"""Draw which rows queries send: those of windows without records, and those that a condition keeps.

This is drawn apart, so that all else is as without them.
"""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.expressions import draw_expression
from chaos.simulator.draw.wish import Wish, own_kinds
from windowing.model.fields import parse_aggregate, value_type
from windowing.model.types import FieldType, parse_field_type

_FAR: Final = (1, 1, 2, 3, 5, 40)
"""How many windows are sent behind one with records; rarely, more than a log has."""

_EVERY: Final = ("TRUE", "NULL IS NOT NULL")
_OF_NUMBERS: Final = ("{} > {}", "{} <= {}", "{} <> {}", "{} IS NULL OR {} < 3")


def draw_rows(document: dict[str, Any], wish: Wish) -> None:
    """Draw for the queries of a document which rows they send."""
    rng = random.Random(f"rows {document!r}")
    if rng.random() >= wish.rows:
        return
    for query in document.get("queries", {}).values():
        if "aggregates" not in query or "operator" in query:
            continue
        if _follow_on(query["window"]) and rng.random() < 0.5:
            query["empty"] = {"after": rng.choice(_FAR)}
        if rng.random() < 0.65:
            flips = _revise(rng, query) and rng.random() < 0.7
            fields = document["source"]["fields"]
            query["having"] = _flips(rng, query) if flips else _having(rng, query, fields)
            own = query.get("accumulation", document.get("accumulation"))
            if own == "discarding":
                query["accumulation"] = rng.choice(["accumulating", "retracting"])


def _follow_on(window: Any) -> bool:
    """Return whether windows follow one another whatever the records, and may have none."""
    if isinstance(window, dict):
        return any(kind in window for kind in own_kinds())
    return "LANDMARK" not in window and "WATTR" in window and "SESSION" not in window


def _revise(rng: random.Random, query: dict[str, Any]) -> bool:
    """Have a query take late records as soon as it can, often; return whether it does."""
    window = query["window"]
    if not isinstance(window, str) or " WATTR ts" not in window or rng.random() < 0.3:
        return False
    query["late"] = {"policy": "update", "every": "1 us"}
    query["retention"] = "1 s"
    return True


def _flips(rng: random.Random, query: dict[str, Any]) -> str:
    """Return a condition that each late record changes, or the first one."""
    name = _counted(query)
    return rng.choice(
        [f"{name} mod 2 = 1", f"{name} mod 2 = 1", f"{name} mod 2 = 0", f"{name} = 1"]
    )


def _counted(query: dict[str, Any]) -> str:
    """Return the aggregate that counts a query's records; add it if there is none."""
    found = [name for name, text in query["aggregates"].items() if text == "count"]
    if not found:
        query["aggregates"] = {**query["aggregates"], "counted": "count"}
    return found[0] if found else "counted"


def _having(rng: random.Random, query: dict[str, Any], fields: dict[str, str]) -> str:
    known = {name: parse_field_type(text) for name, text in fields.items()}
    types = {name: known[name] for name in query["group_by"] if name in known}
    numbers = []
    for name, text in query["aggregates"].items():
        try:
            found = value_type(parse_aggregate(name, text), known)
        except (KeyError, ValueError):  # of an expression, or of what is derived
            continue
        if not found.many:
            types[name] = FieldType(found.kind, True, found.precision, found.scale)
            numbers += [name] if found.kind == "int" else []
        else:
            types.pop(name, None)
    if numbers and rng.random() < 0.6:
        template = rng.choice(_OF_NUMBERS)
        return template.format(rng.choice(numbers), rng.choice([0, 1, 1, 2, rng.choice(numbers)]))
    return draw_expression(rng, types, "bool", depth=2) if types else rng.choice(_EVERY)
