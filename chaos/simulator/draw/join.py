"""Draw joins of two topics."""

from __future__ import annotations

import random
from typing import Any

from chaos.simulator.draw.asof import draw_asof
from chaos.simulator.draw.clock import Clock, draw_clock, draw_event_time
from chaos.simulator.draw.duplicates import draw_duplicates
from chaos.simulator.draw.generators import draw_disorder
from chaos.simulator.draw.queries import draw_late, draw_retention
from chaos.simulator.draw.window_join import draw_window_join, with_shown
from chaos.simulator.draw.wish import ASOF_JOIN, POLICY_JOIN, WINDOW_JOIN, Wish

_SIDES = (
    ("left", "l", "ts", {"g": "string?", "h": "int?", "v": "int?"}),
    ("right", "r", "at", {"g": "string?", "s": "string", "h": "int?", "w": "int?", "x": "float?"}),
)
_EQUAL: tuple[object, ...] = ([], [], ["g"], ["g"], {"g": "s"}, ["h"], ["g", "h"])
_PATIENT = 0.4
"""How often a join waits long for late records, of which most joins drop or miss nearly all."""

_LOCAL = 0.3
"""How often the windows of a window join, where one is asked for, are those of local time."""

_WHERE = ("left.v < right.w", "left.v != right.w", "left.v >= 0", "right.s = 'a'", "left.v <= 1.5")


def draw_join(rng: random.Random, wish: Wish, kind: str) -> dict[str, Any]:
    """Draw the document of a pipeline that joins two topics: one of the class `JOINS`."""
    policies = kind == POLICY_JOIN
    clock = draw_clock(rng, local=kind == WINDOW_JOIN and rng.random() < _LOCAL)
    join: dict[str, Any] = {}
    for side, topic, time, fields in _SIDES:
        join[side] = {"source": _source(rng, clock, topic, time, fields)}
        if wish.refusals and rng.random() < 0.15:
            join[side]["source"]["dense"] = True
        window = rng.choice([None, 0, 2, 5, 12])
        if window is not None:
            join[side]["window"] = clock.us(window)
    if rng.random() < 0.3:
        _let_a_lane_join(rng, join, clock)
    join |= {
        "kind": rng.choice(["inner", "left", "right", "full"]),
        "equal": rng.choice(_EQUAL),
        "where": rng.sample(_WHERE, rng.choice([0, 0, 1, 2])),
        "select": {"v": "left.v", "w": "right.w"},
    }
    if rng.random() < 0.5:
        join["select"] |= {"k": "left.g", "x": "right.x"}
    every = clock.us(rng.choice([1, 3, 7]))
    document: dict[str, Any] = {"name": "simulated", "join": join, "late": draw_late(rng, every)}
    draw_duplicates(document, [join[side]["source"] for side, *_ in _SIDES], clock, wish)
    if not policies and rng.random() < _PATIENT:
        return _of_kind(_patient(rng, document, clock), clock, kind)
    if document["late"]["policy"] == "update" or rng.random() < 0.7:
        # Long retention hides state that is dropped too early, so retention is often short.
        little = rng.random() < 0.4
        kept = clock.us(rng.choice([0, 1, 2])) if little else None
        document["retention"] = kept or draw_retention(rng, clock.us, wish, windows=False)
    if policies:
        document = with_policies(rng, document, clock)
    document["shards"] = rng.choice([1, 1, 2, 3])
    if policies:
        return document | {"join": with_shown(document["join"])}
    return _of_kind(document, clock, kind)


def _of_kind(document: dict[str, Any], clock: Clock, kind: str) -> dict[str, Any]:
    """Return a join by distance as one of another kind, if it is to be one."""
    if kind != WINDOW_JOIN:
        document = draw_asof(document, clock, always=kind == ASOF_JOIN)
    document = draw_window_join(document, clock, always=kind == WINDOW_JOIN)
    return document | {"join": with_shown(document["join"])}


def _patient(rng: random.Random, document: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """Return a join whose records find partners that come late, on either side."""
    join = document["join"]
    join |= {
        "kind": rng.choice(["left", "right", "full", "full"]),
        "equal": rng.choice([[], ["g"]]),
    }
    join["where"] = join["where"][:1]
    for side in ("left", "right"):
        join[side]["source"]["disorder"] = rng.choice(["ordered", {"slack": clock.us(1)}])
        if "window" in join[side]:
            join[side]["window"] = clock.us(rng.choice([5, 12]))
    document["late"] = {"policy": "update", "every": clock.us(rng.choice([1, 3, 7]))}
    document["retention"] = clock.us(rng.choice([15, 40]))
    return {**document, "shards": rng.choice([1, 1, 2, 3])}


def _let_a_lane_join(rng: random.Random, join: dict[str, Any], clock: Clock) -> None:
    """Turn the last of a side's lanes, if there are several, into one that joined later."""
    able = [place for place in _SIDES if join[place[0]]["source"]["partitions"] > 1]
    if not able:
        return
    side, topic, time, _ = rng.choice(able)
    lanes = sum(join[place[0]]["source"]["partitions"] for place in _SIDES)
    last = join[side]["source"]["partitions"] - 1
    at = {time: rng.randint(-3, 20) * clock.tick_us}
    join[side]["source"]["joined"] = {f"{topic}/{last}": {"lane": lanes - 1, "at": at}}


def _source(
    rng: random.Random, clock: Clock, topic: str, time: str, fields: dict[str, str]
) -> dict[str, Any]:
    lanes = rng.choice([1, 1, 2])
    source: dict[str, Any] = {
        "topic": topic,
        "partitions": lanes,
        "format": "json",
        "event_time": draw_event_time(rng, clock, time),
        "fields": fields,
        "disorder": draw_disorder(rng, [f"{topic}/{lane}" for lane in range(lanes)], clock),
    }
    if rng.random() < 0.2:
        source["unknown_fields"] = "ignore"
    return source


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
