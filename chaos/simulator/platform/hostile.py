"""Draw hostile producers: control records of every kind, in lanes that may believe them or not.

Malformed, huge, conflicting, repeated, beyond limits, with classes of their own, signed wrongly or
not at all. Whatever a log says, a run goes on, and what is refused is a dead letter.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from typing import Any, Final

import msgspec

from chaos.simulator.case import Case, Event
from chaos.simulator.draw.values import draw_no_control
from chaos.simulator.platform.changed_log import believing, inserted, like, templates
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, WINDOWS_MAX, signature
from windowing.model.file.pipeline import Pipeline
from windowing.model.source import Source

KEY: Final = "SLACKWATER_SIMULATED_KEY"
"""The variable of the secret that simulated control records are signed with."""

SECRET: Final = "a secret of simulated runs"  # noqa: S105 - it protects nothing

_NAMES: Final = ("new", "new", "newer", "q0", "joins", "metrics", "../x", "")
_CLASSES: Final = ("python:os:system(g)", "python:nowhere.to.be.found:Class(g)", "python:x:Y()")

os.environ.setdefault(KEY, SECRET)


def with_hostile(rng: random.Random, case: Case, pipeline: Pipeline) -> Case:
    """Return a case whose log was written to by somebody hostile, too.

    Args:
        rng: the source of every choice.
        case: any case.
        pipeline: its pipeline.
    """
    rule = _rule(rng, pipeline)
    at_most, lanes = rng.choice([2, 3, 4, 8]), list[tuple[Event, ...]]()
    both = case.lanes
    if rule["believe"] == "all" and templates(pipeline) and rng.random() < 0.5:
        both = _conflicting(rng, case.lanes, pipeline)
    for number, lane in enumerate(both):
        own = lane
        for _ in range(rng.randint(0, at_most) if lane else 0):
            event = {"control": _control(rng, pipeline, number, rule)}
            own = inserted(own, rng.randint(0, len(own)), event)
        if rule.get("key") is not None:
            own = _signed(rng, own, pipeline.source.lane(number))
        lanes.append(own)
    text = believing(case.pipeline, rule)
    return msgspec.structs.replace(case, pipeline=text, lanes=tuple(lanes))


def _conflicting(
    rng: random.Random, lanes: tuple[tuple[Event, ...], ...], pipeline: Pipeline
) -> tuple[tuple[Event, ...], ...]:
    """Return lanes with a copy each, early and so in time, that do not say the same."""
    name, known = rng.choice(["new", "newer"]), templates(pipeline)
    begins_us = max(_instant(rng, pipeline) for _ in range(6))
    variants = [{**like(rng, pipeline, rng.choice(known)), "from": begins_us} for _ in range(2)]
    changes: list[dict[str, Any]] = [{"add": {name: one}} for one in variants]
    if rng.random() < 0.4:
        left = rng.choice([name, *known])
        until_us = begins_us + rng.randint(0, 9) * variants[0]["from"]
        changes = [{"remove": {left: until_us + more}} for more in (0, rng.choice([1, 50]))]
    found, at = [], rng.choice([0, 1, 3])
    for lane in lanes:
        own, chosen = lane, rng.choice([0, 0, 1])
        for change in changes[chosen : chosen + 1] + rng.choice([[], changes[:1]]):
            if lane and rng.random() < 0.9:
                event = {"control": {"queries": change}}
                own = inserted(own, rng.randint(0, min(at, len(own))), event)
        found.append(own)
    return tuple(found)


def _rule(rng: random.Random, pipeline: Pipeline) -> dict[str, Any]:
    changes = pipeline.source.control.believe == "all"
    believes = ["all"] * 8 if changes else ["all"] * 4
    rule: dict[str, Any] = {"believe": rng.choice([*believes, "bounds", "bounds", "none"])}
    if rule["believe"] == "all":
        rule["queries"] = rng.choice([1, 1, 2, 3, 100])
    if rng.random() < 0.4:
        rule["key"] = KEY
    return rule


def _control(rng: random.Random, pipeline: Pipeline, number: int, rule: dict[str, Any]) -> Any:
    source, _ = pipeline.source.place(number)
    if rng.random() < 0.3:
        return _other(rng, source, rule)
    part = rng.choice(["add"] * 4 + ["remove"])
    if part == "remove":
        names = ["q0", "new", "nobody", *(query.name for query in pipeline.queries)]
        return {"queries": {"remove": {rng.choice(names): _instant(rng, pipeline)}}}
    count = rng.choice([1] * 8 + [2, rule.get("queries", 1) + 1])
    names = [rng.choice(_NAMES) if place == 0 else f"n{place}" for place in range(count)]
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
    if not (known := templates(pipeline)):
        return {"window": "RANGE 1 us SLIDE 1 us WATTR ts", "aggregates": {"n": "count"}, "from": 1}
    query = like(rng, pipeline, rng.choice(known))
    query["from"] = _instant(rng, pipeline)
    ways: list[Callable[[], dict[str, Any]]] = [
        *[lambda: {}] * 6,
        lambda: {"window": f"RANGE {WINDOWS_MAX + 1} us SLIDE 1 us WATTR ts"},
        lambda: {"aggregates": {"n": rng.choice(_CLASSES)}},
        lambda: {"aggregates": rng.choice([{}, {"n": "sum(nothing)"}, {"n": 7}, []])},
        lambda: {"retention": {"entries": 1}},
        lambda: {"window": {"months": {"shift": 1}, "wattr": "ts"}},
        lambda: {"window": rng.choice(["", "RANGE", 5, {}, "SESSION 5 us WATTR ts"])},
        lambda: {"group_by": ["nothing"]},
        lambda: {"colour": "red"},
        lambda: {"warmup": "x" * 9_000},
    ]
    return {**query, **rng.choice(ways)()}


def _instant(rng: random.Random, pipeline: Pipeline) -> int:
    """Draw an instant near the edges of the windows that a log is about."""
    slides = [query.window.slide for query in pipeline.queries] or [1]
    return rng.choice(slides) * rng.randint(-4, 30) + rng.choice([0, 0, 0, 1, -1])


def _signed(rng: random.Random, lane: tuple[Event, ...], name: str) -> tuple[Event, ...]:
    """Return a lane whose control records are signed, most of them rightly."""
    counter, found = rng.choice([0, 0, 1, 2**62]), list[Event]()
    for plain in lane:
        event = plain
        if "control" in event:
            body = json.dumps(event["control"]).encode()
            counter += rng.choice([1, 1, 1, 1, 1, 1, 7, 0, -1])
            secret = rng.choice([SECRET] * 12 + ["another secret"])
            of = rng.choice([name] * 12 + ["s/9"])
            digits = signature(secret.encode(), of, max(counter, 0), body).decode()
            headers = {SIGNATURE_HEADER: digits, COUNTER_HEADER: str(max(counter, 0))}
            spoiled = rng.choice([None] * 12 + [SIGNATURE_HEADER, COUNTER_HEADER])
            if spoiled is not None:
                headers[spoiled] = rng.choice(["", "0", "00", "-1", "²", "f" * 64, str(2**63)])
            event = {**plain, "headers": headers} if rng.random() < 0.95 else plain
        found.append(event)
    return tuple(found)
