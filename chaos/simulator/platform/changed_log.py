"""Draw logs that change the queries: control records, a copy in every lane, or not in every one.

A query joins at about the instant that the lanes have reached where they have its copies, so that
most lanes take them and some do not. Only changes that a running pipeline may have are drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from chaos.simulator.case import Case, Event, is_change, record
from windowing.engine.added import why_not
from windowing.engine.plan import plan_of
from windowing.model.file.changes import Change, Copy, changed
from windowing.model.file.pipeline import Pipeline, Query, parse_pipeline
from windowing.model.file.yaml_lines import load, spell
from windowing.model.lengths import INT64_MAX
from windowing.model.windows.sliding import has_extents
from windowing.semantics.arrivals import follow
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of

_NEW = "joins"
_LENGTHS = (1, 1, 2, 3)

Lanes = tuple[tuple[Event, ...], ...]


def with_change(rng: random.Random, case: Case, pipeline: Pipeline) -> Case:
    """Return a case whose log changes the queries; the same case if none can be changed."""
    unchanged, text = case, believing(case.pipeline, {"believe": "all"})
    case, pipeline = msgspec.structs.replace(case, pipeline=text), parse_pipeline(text)
    lanes, after = case.lanes, pipeline
    can_join, can_leave = templates(pipeline), may_leave(pipeline)
    if can_join and (not can_leave or rng.random() < 0.8):
        lanes, after = _joining(rng, lanes, pipeline, rng.choice(can_join))
    joined = after is not pipeline
    names = [*can_leave, *([_NEW] * 2 if joined else [])]
    if names and (not joined or rng.random() < 0.5):
        lanes = _leaving(rng, lanes, after, rng.choice(names))
    if lanes == case.lanes:
        return unchanged
    plan = tuple(
        msgspec.structs.replace(step, dies_in_change=rng.choice([None, None, 0, 1, 2, 3, 4]))
        for step in case.plan
    )
    return msgspec.structs.replace(case, lanes=lanes, plan=plan)


def believing(text: str, rule: Mapping[str, Any]) -> str:
    """Return a pipeline file whose sources believe control records by a rule."""
    document = load(text)
    join = document.get("join")
    for section in [document] if join is None else [join["left"], join["right"]]:
        section["source"]["control"] = dict(rule)
    return spell(document)


def _slides(pipeline: Pipeline) -> Iterator[Query]:
    """Yield the queries whose windows have an extent in event time that is known beforehand."""
    time = pipeline.source.event_time.field
    for query in pipeline.of(Query):
        if has_extents(query.window) and query.window.attribute == time:
            yield query


def templates(pipeline: Pipeline) -> list[str]:
    """Return the queries that another one can be like."""
    return [query.name for query in _slides(pipeline)]


def may_leave(pipeline: Pipeline) -> list[str]:
    """Return the queries that can leave: those without an end."""
    found = []
    for query in _slides(pipeline):
        active = query.window.active
        if active is None or active.until_us is None:
            found.append(query.name)
    return found


def _joining(
    rng: random.Random, lanes: Lanes, pipeline: Pipeline, of: str
) -> tuple[Lanes, Pipeline]:
    """Let a query join; return the pipeline with it, or the same if it cannot be added."""
    places = [rng.randint(0, len(lane)) for lane in lanes]
    known = [max(newest + 1, progress) for newest, progress in reached(lanes, pipeline, places)]
    query = like(rng, pipeline, of)
    slide = slide_of(pipeline, of)
    begins_us = rng.choice([max, max, max, min])(known)
    query["from"] = instant(begins_us + rng.choice([0, 0, 1, slide, 3 * slide]))
    change = Change({_NEW: query}, {})
    after = changed(pipeline, Copy(pipeline.source.lane(0), 0, change))
    if isinstance(after, str):
        return lanes, pipeline
    if why_not(plan_of(pipeline), plan_of(after), _NEW) is not None:
        return lanes, pipeline
    return _written(rng, lanes, places, {"queries": {"add": {_NEW: query}}}), after


def _leaving(rng: random.Random, lanes: Lanes, pipeline: Pipeline, name: str) -> Lanes:
    places = [rng.randint(_behind(lane), len(lane)) for lane in lanes]
    known = [progress for _, progress in reached(lanes, pipeline, places)]
    until_us = rng.choice([max, max, max, min])(known)
    slides = rng.choice([0, 0, 1, 2, 5]) * slide_of(pipeline, name)
    control = {"queries": {"remove": {name: instant(until_us + slides)}}}
    return _written(rng, lanes, places, control)


def _behind(lane: tuple[Event, ...]) -> int:
    changes = [at for at, event in enumerate(lane) if is_change(event)]
    return max(changes, default=-1) + 1


def like(rng: random.Random, pipeline: Pipeline, name: str) -> dict[str, Any]:
    """Return a query that is like one of the file, except for its range and its aggregates."""
    query = _queries(pipeline.text)[name]
    query = {key: query[key] for key in query if key not in ("from", "until", "warmup")}
    window = query["window"]
    if isinstance(window, str) and window.split()[1].isdigit():
        _, length, *rest = window.split()
        query["window"] = " ".join(["RANGE", str(int(length) * rng.choice(_LENGTHS)), *rest])
    shown = list(query["aggregates"])
    kept = rng.sample(shown, rng.randint(1, len(shown)))
    query["aggregates"] = {one: query["aggregates"][one] for one in shown if one in kept}
    if rng.random() < 0.3:
        query["warmup"] = "emit"
    return query


@lru_cache(maxsize=8)
def _queries(text: str) -> dict[str, Any]:
    """Return the queries of a file; a hostile log has many that are like one of them."""
    queries: dict[str, Any] = load(text)["queries"]
    return queries


def slide_of(pipeline: Pipeline, name: str) -> int:
    """Return the slide of a query's windows."""
    return next(query.window.slide for query in pipeline.of(Query) if query.name == name)


def reached(lanes: Lanes, pipeline: Pipeline, places: list[int]) -> list[tuple[float, float]]:
    """Return the newest time and the progress of each lane before a place, without changes in it.

    A lane that says nothing yet, or has ended, has those of an instant around 0.
    """
    found = []
    for number, lane in enumerate(lanes_of(pipeline.source, None)):
        entries = [record(one) for one in lanes[number][: places[number]] if not is_change(one)]
        follow(lane, entries, ValueReader(pipeline, number))
        progress = max([lane.progress, *lane.by_key.values()])
        found.append((_finite(lane.newest), _finite(progress)))
    return found


def _finite(us: float) -> float:
    return us if math.isfinite(us) else 0


def instant(us: float) -> int:
    """Return the nearest instant in 64 bits."""
    return int(max(-INT64_MAX, min(us, INT64_MAX)))


def _written(rng: random.Random, lanes: Lanes, places: list[int], control: dict[str, Any]) -> Lanes:
    """Return lanes with a copy of a control record each; some may lack it, and empty ones do."""
    lacks = rng.randrange(len(lanes)) if len(lanes) > 1 and rng.random() < 0.15 else None
    return tuple(
        lane if number == lacks else inserted(lane, place, {"control": control})
        for number, (lane, place) in enumerate(zip(lanes, places, strict=True))
    )


def inserted(lane: tuple[Event, ...], at: int, content: Event) -> tuple[Event, ...]:
    """Return a lane with a record before the event of a place; those behind it move on."""
    if not lane:
        return lane
    head, rest = lane[:at], lane[at:]
    offset = rest[0]["offset"] if rest else head[-1]["offset"] + 1
    place = {key: lane[0][key] for key in ("source", "partition")}
    moved = [{**event, "offset": event["offset"] + 1} for event in rest]
    return (*head, {**place, "offset": offset, **content}, *moved)
