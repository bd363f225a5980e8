"""Random small pipelines: every feature of the release, at a scale where they meet each other."""

from __future__ import annotations

import random
from typing import Any

import yaml

TOPIC = "s"
# How often joins, sessions, and discarding or retracting rows occur.
_JOINS, _SESSIONS, _ACCUMULATIONS = 0.2, 0.3, 0.3
_UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}
_AGGREGATES = ("count", "sum(v)", "mean(v)", "min(v)", "max(v)", "sum(x)", "mean(x)", "max(x)")
_RICHER = (
    *("var(v)", "stddev(x)", "first(v)", "last(x)", "argmin(x)", "argmax(v, g)", "collect(g)"),
    *("count_distinct(g)", "approx_count_distinct(v)", "median(x)", "quantile(v, 0.9)"),
    *("approx_quantile(x, 0.9)", "top_k(v, 2)"),
)
_OTHER_KINDS = ("landmark", "rows", "ranked rows", "by tuple", "by n", "by rank")
# Sliding windows are what most pipelines have.
_CLASSES = (*("sliding",) * 9, *_OTHER_KINDS)
_AS_THEY_ARRIVE = frozenset({"rows", "by n"})
# Classes whose late records cannot be shown later.
_NO_UPDATE = frozenset({"rows", "ranked rows", "by rank"})


def draw_pipeline(rng: random.Random) -> str:
    """Draw the text of a pipeline file; lengths are small multiples of one tick."""
    if rng.random() < _JOINS:
        return yaml.safe_dump(_join(rng), sort_keys=False)
    unit = rng.choice(["us", "us", "ms", "s", "iso"])
    tick_us = _UNIT_US[unit] * rng.choice([1, 1, 1000])
    every = _us(rng.choice([1, 2, 3, 5, 7]) * tick_us)
    kinds = rng.choices(_CLASSES, k=rng.choice([1, 1, 2]))
    # Rows that are counted as they arrive must arrive in one lane.
    as_they_arrive = not _AS_THEY_ARRIVE.isdisjoint(kinds)
    pipeline: dict[str, Any] = {
        "name": "simulated",
        "source": {
            "topic": TOPIC,
            "partitions": 1 if as_they_arrive else rng.choice([1, 2, 2, 3]),
            "format": "json",
            "event_time": _event_time(rng, unit, tick_us, bounded="landmark" in kinds),
            "fields": {"g": rng.choice(["string", "string?"]), "v": "int?", "x": "float?"},
            "disorder": rng.choice(["ordered", {"slack": _us(rng.choice([1, 3, 8]) * tick_us)}]),
        },
        "late": _late(rng, every),
        "retention": _us(rng.choice([0, 2, 10, 40]) * tick_us),
        "shards": rng.choice([1, 1, 2, 3]),
        "queries": {
            f"q{number}": _query(rng, kind, every, tick_us) for number, kind in enumerate(kinds)
        },
    }
    for query in pipeline["queries"].values():
        query.update(_further(rng, tick_us))
    return yaml.safe_dump(pipeline, sort_keys=False)


def _further(rng: random.Random, tick_us: int) -> dict[str, Any]:
    """What replaces parts of a query: a session, and what later rows show."""
    changes: dict[str, Any] = {}
    if rng.random() < _SESSIONS:
        changes["window"] = f"SESSION {rng.randint(1, 10) * tick_us} us WATTR ts"
    if rng.random() < _ACCUMULATIONS:
        changes["accumulation"] = rng.choice(["discarding", "retracting"])
    return changes


def _join(rng: random.Random) -> dict[str, Any]:
    """A join of two topics."""
    sides = {}
    for side, topic, own in (("left", TOPIC, "v"), ("right", "t", "w")):
        source = {
            "topic": topic,
            "partitions": rng.choice([1, 1, 2]),
            "format": "json",
            "event_time": {"field": "ts", "unit": "us"},
            "fields": {"g": "string?", own: "int?"},
            "disorder": rng.choice(["ordered", {"slack": _us(rng.choice([1, 3, 8]))}]),
        }
        window = rng.choice([{}, {"window": _us(rng.choice([0, 2, 5, 12]))}])
        sides[side] = {"source": source, **window}
    return {
        "name": "simulated",
        "join": {
            **sides,
            "kind": rng.choice(["inner", "left", "right", "full"]),
            "equal": rng.choice([[], ["g"], ["g"]]),
            "where": rng.choice([[], [], ["left.v < right.w"]]),
            "select": {"v": "left.v", "w": "right.w"},
        },
        "late": _late(rng, _us(rng.choice([1, 3, 7]))),
        "retention": _us(rng.choice([0, 2, 10, 40])),
        "shards": rng.choice([1, 2, 3]),
    }


def _us(length_us: int) -> str:
    return f"{length_us} us"


def _event_time(rng: random.Random, unit: str, tick_us: int, *, bounded: bool) -> dict[str, Any]:
    # A legal time in a thousand years would ask for every landmark window until then.
    rule: dict[str, Any] = {"field": "ts", "unit": unit}
    if rng.random() < 0.4 or bounded:
        rule |= {"min": "1969-12-01", "max": "1970-02-01"}
    if rng.random() < 0.4:
        rule["max_ahead"] = _us(3 * tick_us)
    return rule


def _late(rng: random.Random, every: str, kind: str = "sliding") -> dict[str, Any]:
    mode = rng.choice(["generous", "generous", "consistent"])
    update = rng.random() < 0.65 and kind not in _NO_UPDATE
    if update and (kind != "landmark" or mode == "generous"):
        return {"policy": "update", "every": every, "mode": mode}
    return {"policy": rng.choice(["drop", "dead_letter"]), "mode": mode}


def _query(rng: random.Random, kind: str, every: str, tick_us: int) -> dict[str, Any]:
    chosen = rng.sample(_AGGREGATES, rng.randint(1, 3))
    if rng.random() < 0.5:
        chosen.append(rng.choice(_RICHER))
    query: dict[str, Any] = {
        "window": _window(rng, kind, tick_us),
        "group_by": rng.choice([[], ["g"], ["g"], ["g", "v"]]),
        "aggregates": {f"a{number}": text for number, text in enumerate(chosen)},
    }
    # What the pipeline says of late records was drawn for sliding windows.
    if rng.random() < 0.3 or kind in _NO_UPDATE or kind == "landmark":
        query["late"] = _late(rng, every, kind)
    if rng.random() < 0.3:
        query["retention"] = _us(rng.choice([0, 3, 15, 50]) * tick_us)
    return query


def _window(rng: random.Random, kind: str, tick_us: int) -> str:
    slide = rng.randint(1, 10)
    length = rng.choice([slide, slide, slide * rng.randint(2, 4), rng.randint(1, 25)])
    time, steps = f"RANGE {length * tick_us} us", f"SLIDE {slide * tick_us} us"
    shift = rng.choice([0, 0, 0, 3, -4]) * tick_us
    origin = f" ORIGIN {shift} us" if shift else ""
    parts = rng.choice(["", "", " PATTR g"]) if kind != "sliding" else ""
    window = {
        "sliding": f"{time} {steps} WATTR ts{origin}",
        "landmark": f"RANGE LANDMARK {steps} WATTR ts{origin}",
        "rows": f"RANGE {length} rows SLIDE {slide} rows WATTR row_num",
        "ranked rows": f"RANGE {length} rows SLIDE {slide} rows WATTR row_num ORDER event_time",
        "by tuple": f"{time} SLIDE 1 row RATTR ts SATTR row_num",
        "by n": f"{time} SLIDE {rng.randint(2, 4)} rows RATTR ts SATTR row_num",
        "by rank": f"{time} SLIDE {rng.randint(1, 4)} rows RATTR ts SATTR rank(ts)",
    }[kind]
    return window + parts
