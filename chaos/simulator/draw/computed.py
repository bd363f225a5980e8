"""Draw what a source computes: derived fields, rules, a filter, arguments; and metadata.

Some have no value for some of the values that are drawn, so that all ways of failing are there; and
where a condition decides whether a part is evaluated, both happen.
"""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.expressions import KINDS, draw_expression
from chaos.simulator.draw.wish import Wish
from windowing.model.source import Source
from windowing.model.types import parse_field_type

_FIRST: Final = "d1"
_SECOND: Final = "d2"
_INTS: Final = (
    *("v + h", "coalesce(v, h)", "v div h", "w mod h", "length(g)", "coalesce(v, 0) - 3"),
    *("CASE WHEN h <> 0 AND v div h > 1 THEN v END", "$offset mod 3", "$partition"),
    *("CASE WHEN v IS NULL THEN 0 ELSE v div h END", "coalesce(h, $offset div h)"),
)
_TEXTS: Final = ("substr(g, 1, 1)", "coalesce(g, '-') || 'z'", "$key", "$headers.a", "$topic")
_OF_INT: Final = ("d1 + 1", "d1 * d1", "coalesce(d1, v)", "v div d1")
_OF_TEXT: Final = ("length(d1)", "CASE WHEN d1 = 'a' THEN h END", "d1 || 'y'")
_CHECKS: Final = (
    *("coalesce(v, 0) < 30", "h <> 3 OR h IS NULL", "g IS NOT NULL", "v div h >= 0 OR h = 0"),
    *("h = 0 OR v div h > -4 OR v IS NULL", "x < 10", "$key IS NULL OR h > 0", "length(g) < 4"),
)
_FILTERS: Final = (
    *("v > -5 OR v IS NULL", "g <> 'a'", "h IN (0, 1, 2)", "coalesce(h, 0) <> 2"),
    *("h <> 0 AND v div h < 5", "$offset mod 4 <> 1", "NOT (v BETWEEN 0 AND 2)"),
)
_AGGREGATES: Final = (
    *("sum(v + h)", "max(v div h)", "min(coalesce(v, w))", "last(g) where h > 1"),
    *("sum(v) where h <> 0 AND v div h > 0", "mean(x) where g = 'a'", "max($offset)"),
    *("collect(v - h) where v > h", "first($key)", "count_distinct(coalesce(g, $headers.a))"),
    *("any(v > 2) where h > 0", "all(w < 3) where g <> 'a'"),
)
_OWN: Final = ("last(d1)", "last(d1)", "count_distinct(d1)", "collect(d1) where h IS NOT NULL")


def draw_computed(document: dict[str, Any], wish: Wish) -> None:
    """Draw for the source of a document what it computes, and have queries use it."""
    # Drawn apart, so that all else is as without them.
    rng = random.Random(f"computed {document!r}")
    if rng.random() >= wish.computed:
        return
    source, derived = document["source"], dict[str, str]()
    if rng.random() < 0.75:
        of_int = rng.random() < 0.6
        derived[_FIRST] = rng.choice(_INTS if of_int else _TEXTS)
        if rng.random() < 0.5:
            derived[_SECOND] = rng.choice(_OF_INT if of_int else _OF_TEXT)
        source["derive"] = derived
    if rng.random() < 0.6:
        checks = rng.sample(_CHECKS, rng.choice([1, 1, 2, 3]))
        source["rules"] = [
            {"name": f"r{place}", "check": check, "on_fail": rng.choice(["dead_letter", "warn"])}
            for place, check in enumerate(checks)
        ]
    if "derive" in source and "rules" in source and rng.random() < 0.4:
        # What is computed first fails first.
        source["derive"] = source.pop("derive")
    if rng.random() < 0.65:
        source["where"] = rng.choice(_FILTERS)
    for query in document["queries"].values():
        _use(rng, query, derived)
    _compute_anything(document)


def _compute_anything(document: dict[str, Any]) -> None:
    """Draw expressions of every kind: one that is derived, and one that warns."""
    rng = random.Random(f"anything {document!r}")
    if rng.random() >= 0.3:
        return
    source = document["source"]
    types = {name: parse_field_type(text) for name, text in source["fields"].items()}
    kind = rng.choice(KINDS)
    source.setdefault("derive", {})["any"] = draw_expression(rng, types, kind, depth=2)
    check = draw_expression(rng, types, "bool", depth=2)
    source.setdefault("rules", []).append({"name": "any", "check": check, "on_fail": "warn"})
    for query in document["queries"].values():
        if "aggregates" in query and rng.random() < 0.5:
            query["aggregates"] = {**query["aggregates"], "any": "last(any)"}


def _use(rng: random.Random, query: dict[str, Any], derived: dict[str, str]) -> None:
    if "aggregates" not in query:
        return
    query["aggregates"] = dict(query["aggregates"])
    # Those that begin later have no expression of their own.
    if "from" not in query and rng.random() < 0.6:
        query["aggregates"]["expr"] = rng.choice(_AGGREGATES)
    if derived and "from" not in query and rng.random() < 0.5:
        query["aggregates"]["own"] = rng.choice(_OWN)
    # Gaps are of the values of one field.
    may_group = "operator" not in query and "gaps" not in repr(query["window"])
    if derived and may_group and rng.random() < 0.35:
        query["group_by"] = [*query.get("group_by", []), _FIRST]


def draw_topics(document: dict[str, Any], wish: Wish) -> None:
    """Split the lanes of a source among two topics, where nothing names them."""
    rng = random.Random(f"topics {document!r}")
    source = document["source"]
    lanes = source["partitions"]
    named = "joined" in source or f"{source['topic']}/" in repr(document)
    if named or lanes < 2 or rng.random() >= wish.computed:
        return
    first = rng.randint(1, lanes - 1)
    topics = [(source["topic"], first), ("r", lanes - first)]
    document["source"] = {
        "topics": dict(topics),
        **{key: value for key, value in source.items() if key not in ("topic", "partitions")},
    }


def draw_metadata(rng: random.Random, source: Source, ts_us: int) -> dict[str, Any]:
    """Draw what a record has besides its value, if the source uses any of it."""
    if not source.metadata:
        return {}
    drawn: dict[str, Any] = {
        "key": rng.choice([None, "a", "a", "b", ""]),
        "timestamp_us": rng.choice([ts_us, 0, None]),
        "headers": rng.choice([{}, {"a": "x"}, {"a": "y", "b": "z"}, {"a": None}]),
    }
    return {name: value for name, value in drawn.items() if rng.random() < 0.8}
