"""Draw hostile producers: control records of every kind, in lanes that may believe them or not.

Malformed, huge, conflicting, repeated, beyond limits, with classes of their own, signed wrongly or
not at all. Whatever a log says, a run continues, and what is refused is a dead letter.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.simulator.case import Case, Event
from chaos.simulator.draw.values import draw_no_control
from chaos.simulator.platform.changed_log import (
    Lanes,
    believing,
    inserted,
    instant,
    like,
    may_leave,
    reached,
    slide_of,
    templates,
)
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, WINDOWS_MAX, signature
from windowing.model.file.allowed import LANE_CELLS_MAX
from windowing.model.file.pipeline import Pipeline, Query, parse_pipeline
from windowing.model.source import Source

KEY: Final = "SLACKWATER_SIMULATED_KEY"
"""The variable of the secret that simulated control records are signed with."""

SECRET: Final = "a secret of simulated runs"  # noqa: S105 - it protects nothing

Lane = tuple[Event, ...]

_NAMES: Final = ("new", "new", "newest", "q0", "joins", "metrics", "../x", "")
_CLASSES: Final = (
    *("python:os:system(g)", "python:nowhere.to.be.found:Class(g)", "python:x:Y()"),
    # This one is there, and some files name it.
    *("python:chaos.simulator.draw.swing:Swing(x)", "python:chaos.simulator.draw.swing:Swing(v)"),
)
_WRONGS: Final = (
    *("again", "again", "another lane's", "another secret", "unsigned"),
    *(SIGNATURE_HEADER, COUNTER_HEADER),
)
_WIDE: Final = LANE_CELLS_MAX // (11 * WINDOWS_MAX)
_FAR_US: Final = 2**50

os.environ.setdefault(KEY, SECRET)


def with_hostile(rng: random.Random, case: Case, pipeline: Pipeline) -> Case:
    """Return a case whose log was written to by somebody hostile, too."""
    rule = _rule(rng, pipeline)
    text, at_most, lanes = believing(case.pipeline, rule), rng.choice([2, 3, 4, 8]), case.lanes
    for number, lane in enumerate(lanes):
        for _ in range(rng.randint(0, at_most) if lane else 0):
            event = {"control": _control(rng, pipeline, number, rule)}
            lanes = _written(lanes, number, rng.randint(0, len(lanes[number])), event)
    if rule["believe"] == "all" and pipeline.query_files:
        # Nothing is signed yet.
        unsigned = parse_pipeline(believing(text, {**rule, "key": None}))
        for _ in range(rng.choice([1, 2])):
            lanes = _disputing(rng, lanes, unsigned)
    if rule.get("key") is not None:
        lanes = tuple(_signed(rng, lane, pipeline, number) for number, lane in enumerate(lanes))
    return msgspec.structs.replace(case, pipeline=text, lanes=lanes)


def _written(lanes: Lanes, number: int, at: int, event: Event) -> Lanes:
    return (*lanes[:number], inserted(lanes[number], at, event), *lanes[number + 1 :])


def _disputing(rng: random.Random, lanes: Lanes, pipeline: Pipeline) -> Lanes:
    """Return lanes that do not say the same of a query, or of its end: early, and so in time."""
    places, length = [_early(rng, lane) for lane in lanes], 1
    known = [max(newest + 1, progress) for newest, progress in reached(lanes, pipeline, places)]
    behind_us, own = instant(rng.choice([max] * 11 + [min])(known)), may_leave(pipeline)
    name, adds, alike = rng.choice(["new", "newest"]), True, rng.random() < 0.5
    if alike and own and rng.random() < 0.7:
        name, adds = rng.choice(own), False
    slide = slide_of(pipeline, name) if not adds else 1
    variants = [_grid(rng, pipeline, behind_us + rng.choice([0, 0, 1])) for _ in range(2)]
    if adds:
        slide, length = _lengths(pipeline, variants)
    if variants[0] == variants[1]:
        variants[1]["from"] += rng.choice([1, slide])
    more = rng.choice([[], [], [f"{name}_too"]])
    turn, ends = rng.randrange(2), alike or rng.random() < 0.5
    least_us = behind_us + (length + 1 if adds else 0)
    for number, lane in enumerate(lanes):
        said: list[dict[str, Any]] = []
        if adds:
            says = 0 if alike else (number + turn) % 2 if rng.random() < 0.8 else rng.randrange(2)
            said.append({"add": dict.fromkeys([name, *more], variants[says])})
        if ends:
            until_us = least_us + rng.choice([0, 1, 2, 3, 5]) * slide + rng.choice([0, 0, 0, 1])
            said.append({"remove": {name: until_us}})
        if rng.random() < 0.1:
            said.append({"add": {name: rng.choice(variants)}})
        at = places[number]
        for change in said if lane and rng.random() < 0.95 else ():
            lanes = _written(lanes, number, at, {"control": {"queries": change}})
            at += rng.choice([1, 1, 1, 2])
            at = min(at, len(lanes[number]))
    return lanes


def _early(rng: random.Random, lane: Lane) -> int:
    return min(rng.choice([0, 0, 1, 2, 3, 5, 8]), len(lane))


def _grid(rng: random.Random, pipeline: Pipeline, begins_us: int) -> dict[str, Any]:
    """Draw a query that a log may add: like one of the file, if some are of this kind."""
    if known := templates(pipeline):
        return {**like(rng, pipeline, rng.choice(known)), "from": begins_us}
    slide = rng.choice([1, 2, 5, 10])
    window = f"RANGE {slide * rng.choice([1, 2, 3])} us SLIDE {slide} us"
    time = pipeline.source.event_time.field
    return {"window": f"{window} WATTR {time}", "aggregates": {"n": "count"}, "from": begins_us}


def _lengths(pipeline: Pipeline, queries: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the longest slide and the longest range of some queries, in microseconds."""
    try:
        windows = [pipeline.resolved("new", query).window for query in queries]
    except ValueError:  # no file could have them, beside its rules for all queries
        return 1, 1
    return max(one.slide for one in windows), max(one.range_ or 0 for one in windows)


def _rule(rng: random.Random, pipeline: Pipeline) -> dict[str, Any]:
    changes = pipeline.source.control.believe == "all"
    believes = ["all"] * 8 if changes else ["all"] * 4
    rule: dict[str, Any] = {"believe": rng.choice([*believes, "bounds", "bounds", "none"])}
    if rule["believe"] == "all":
        rule["queries"] = rng.choice([1, 2, 3, 100, 100])
    if rng.random() < 0.4:
        rule["key"] = KEY
    return rule


def _control(rng: random.Random, pipeline: Pipeline, number: int, rule: dict[str, Any]) -> Any:
    source, _ = pipeline.source.place(number)
    if rng.random() < 0.3:
        return _other(rng, source, rule)
    part = rng.choice(["add"] * 4 + ["remove"])
    if part == "remove":
        names = ["q0", "new", "nobody", *(query.name for query in pipeline.of(Query))]
        return {"queries": {"remove": {rng.choice(names): _instant(rng, pipeline)}}}
    count = rng.choice([1] * 8 + [2, rule.get("queries", 1) + 1])
    names = [rng.choice(_NAMES) if place == 0 else f"n{place}" for place in range(count)]
    if rule.get("queries", 1) >= _WIDE + 1 and rng.random() < 0.3:
        return {"queries": {"add": _wide(rng, pipeline)}}
    return {"queries": {"add": {name: _query(rng, pipeline) for name in names}}}


def _other(rng: random.Random, source: Source, rule: dict[str, Any]) -> Any:
    """Draw a control record that changes no query, or is none."""
    longest = 6_000 + 2_000 * rule.get("queries", 0)
    return rng.choice(
        [
            draw_no_control(rng),
            {"queries": rng.choice([None, [], {}, {"add": []}, {"add": {"x": 1}}, {"drop": {}}])},
            {"queries": {"add": {"x": {"from": 1, "joined": {f"{source.topic}/0": 1}}}}},
            {"queries": {"add": {}, "remove": {"x": "soon"}}, "more": 1},
            {"bound": 1, "on": {"g": "x" * longest}},
            {"queries": {"add": {"x": {"from": 1, "window": "y" * longest}}}},
            {"queries": [[[[]]] * 40]},
            {"bound": rng.choice([2**63 - 1, -(2**63), 2**63, 1.5, True])},
        ]
    )


def _query(rng: random.Random, pipeline: Pipeline) -> Any:
    """Draw a query: mostly like one of the file, and wrong in one way, or too much."""
    query = _grid(rng, pipeline, _instant(rng, pipeline))
    ways: list[Callable[[], dict[str, Any]]] = [
        *[lambda: {}] * 6,
        *[lambda: _of_windows(WINDOWS_MAX + 1)] * 2,
        *[lambda: {"aggregates": {"n": rng.choice(_CLASSES)}}] * 2,
        lambda: {"aggregates": rng.choice([{}, {"n": "sum(nothing)"}, {"n": 7}, []])},
        *[lambda: {"retention": {"entries": 1}}] * 2,
        lambda: {"window": {"months": {"shift": 1}, "wattr": "ts"}},
        lambda: {"window": rng.choice(["", "RANGE", 5, {}, "SESSION 5 us WATTR ts"])},
        lambda: {"group_by": ["nothing"]},
        lambda: {"colour": "red"},
        lambda: {"warmup": "x" * 9_000},
    ]
    return {**query, **rng.choice(ways)()}


def _wide(rng: random.Random, pipeline: Pipeline) -> dict[str, Any]:
    """Draw queries with as many windows as a lane may add, or with some more."""
    query = _query(rng, pipeline) | _of_windows(WINDOWS_MAX)
    return {f"wide{number}": query for number in range(_WIDE + rng.choice([0, 1]))}


def _of_windows(count: int) -> dict[str, Any]:
    """Return the window of a query that no record reaches, with so many windows at once."""
    return {"window": f"RANGE {count} us SLIDE 1 us WATTR ts", "from": _FAR_US}


def _instant(rng: random.Random, pipeline: Pipeline) -> int:
    """Draw an instant near the edges of the windows that a log is about."""
    slides = [window.slide for window in pipeline.windows] or [1]
    return rng.choice(slides) * rng.randint(-4, 30) + rng.choice([0, 0, 0, 1, -1])


def _signed(rng: random.Random, lane: Lane, pipeline: Pipeline, number: int) -> Lane:
    """Return a lane whose control records are signed, in some lanes all of them rightly."""
    source, counter, found = pipeline.source, rng.choice([0, 0, 1, 2**62]), list[Event]()
    wrong = rng.choice([0.0, 0.3, 0.6])
    for plain in lane:
        event = plain
        if "control" in event:
            body = json.dumps(event["control"]).encode()
            counter += rng.choice([1, 1, 7])
            how = rng.choice(_WRONGS) if rng.random() < wrong else None
            if how == "again":
                counter -= rng.choice([7, 8])
            counter = max(counter, 0)
            of = rng.randrange(source.partitions) if how == "another lane's" else number
            secret = "another secret" if how == "another secret" else SECRET
            digits = signature(secret.encode(), source.lane(of), counter, body).decode()
            headers = {SIGNATURE_HEADER: digits, COUNTER_HEADER: str(counter)}
            if how in headers:
                headers[how] = rng.choice(["", "0", "00", "-1", "²", "f" * 64, str(2**63)])
            event = plain if how == "unsigned" else {**plain, "headers": headers}
        found.append(event)
    return tuple(found)
