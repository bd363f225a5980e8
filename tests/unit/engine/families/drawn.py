"""Pipelines in which families of queries occur, and logs for them."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.strategies import Case, Event

Lanes = tuple[tuple[Event, ...], ...]

LATE: list[dict[str, Any]] = [
    {"late": {"policy": "dead_letter"}},
    {"late": {"policy": "drop"}},
    {"late": {"policy": "dead_letter", "mode": "consistent"}},
    {"late": {"policy": "update", "every": "4 us"}, "retention": "15 us"},
    {"late": {"policy": "update", "every": "7 us", "mode": "consistent"}, "retention": "9 us"},
]
ACCUMULATIONS = ["accumulating", "discarding", "retracting"]
AGGREGATES = ["count", "sum(v)", "max(v)", "mean(x)", "sum(x)", "first(v)", "median(v)", "min(x)"]
WINDOWS = ["", " ORIGIN 7 us", " ORIGIN 3 us", " ALIGN start", " ORIGIN 5 us ALIGN start"]
FINEST = "RANGE 3 us SLIDE 1 us WATTR ts ALIGN start"
NAMES = [f"q{number}" for number in range(6)]
LATER: list[dict[str, Any]] = [
    {"from": 0},
    {"from": 7},
    {"from": 12, "warmup": "emit"},
    {"from": 5, "until": 60},
    {"from": 3, "until": 14, "warmup": "emit"},
]
ACTIVITIES: list[dict[str, Any]] = [{}, {"until": 9}, {"until": 16}, {"until": -3}, *LATER]
MEMORYLESS = ["ordered", {"slack": "3 us"}, {"slack": "12 us"}]


@st.composite
def families(draw: st.DrawFn, *, fused: bool) -> Case:
    """A pipeline with several queries in few styles, and a log."""
    styles = [_style(draw) for _ in range(draw(st.integers(1, 2)))]
    queries = {
        f"q{number}": _query(draw, styles, _window(draw))
        for number in range(draw(st.integers(2, 7)))
    }
    return _case(draw, queries, fused=fused)


@st.composite
def changing_families(draw: st.DrawFn, *, fused: bool) -> Case:
    """A pipeline with queries that begin or end, in one style, and a log that changes them."""
    styles = [_style(draw)]
    queries = {
        # The finest comes first, so that most of the others are in step with it.
        name: _query(draw, styles, FINEST if number == 0 else _window(draw))
        for number, name in enumerate(NAMES[: draw(st.integers(3, 6))])
    }
    for name in list(queries)[2:]:
        queries[name] |= draw(st.sampled_from(ACTIVITIES))
    case = _case(draw, queries, fused=fused)
    lanes = case.lanes
    if draw(st.booleans()):
        asked = {**draw(st.sampled_from(list(queries.values()))), **draw(st.sampled_from(LATER))}
        lanes = _copied(draw, lanes, {"add": {draw(st.sampled_from(["new", "a0"])): asked}})
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([*NAMES[:4], "new"]))
        lanes = _copied(draw, lanes, {"remove": {name: draw(st.integers(-5, 30))}})
    return Case(case.pipeline, lanes)


def _copied(draw: st.DrawFn, lanes: Lanes, change: dict[str, Any]) -> Lanes:
    """Each lane with a copy of a change, mostly early, so that it is taken; or without."""
    return tuple(
        lane
        if not lane or draw(st.integers(0, 9)) == 0
        else inserted(lane, draw(st.integers(0, min(len(lane), 5))), {"queries": change})
        for lane in lanes
    )


def inserted(lane: tuple[Event, ...], at: int, control: dict[str, Any]) -> tuple[Event, ...]:
    """The lane with a control record at a position, behind which all offsets move by one."""
    place = {"source": "s", "partition": lane[0]["partition"], "offset": at}
    moved = ({**event, "offset": event["offset"] + 1} for event in lane[at:])
    return (*lane[:at], {**place, "control": control}, *moved)


def _query(draw: st.DrawFn, styles: list[dict[str, Any]], window: str) -> dict[str, Any]:
    return {
        "window": window,
        "aggregates": _aggregates(draw),
        **draw(st.sampled_from(styles)),
    }


def _case(draw: st.DrawFn, queries: dict[str, Any], *, fused: bool) -> Case:
    partitions = draw(st.integers(1, 3))
    disorder = draw(st.sampled_from(MEMORYLESS if fused else [*MEMORYLESS, {"slack": "2 rows"}]))
    document = {
        "name": "p",
        "source": {
            "topic": "s",
            "partitions": partitions,
            "format": "json",
            "event_time": {"field": "ts", "unit": "us"},
            "fields": {"k": "string?", "v": "int?", "x": "float"},
            "disorder": disorder,
            "control": "all",
        },
        "shards": draw(st.integers(1, 3)),
        "queries": queries,
    }
    lanes = tuple(_lane(draw, number) for number in range(partitions))
    return Case(yaml.safe_dump(document, sort_keys=False), lanes)


def _style(draw: st.DrawFn) -> dict[str, Any]:
    late = draw(st.sampled_from(LATE))
    group_by = draw(st.sampled_from([[], ["k"]]))
    return {"group_by": group_by, "accumulation": draw(st.sampled_from(ACCUMULATIONS)), **late}


def _window(draw: st.DrawFn) -> str:
    slide = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 10, 12]))
    range_ = draw(st.sampled_from([slide, 2 * slide, 3 * slide, 1, 4, 7, 11]))
    return f"RANGE {range_} us SLIDE {slide} us WATTR ts{draw(st.sampled_from(WINDOWS))}"


def _aggregates(draw: st.DrawFn) -> dict[str, str]:
    chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
    return {f"a{draw(st.integers(0, 2))}{place}": text for place, text in enumerate(chosen)}


def _lane(draw: st.DrawFn, number: int) -> tuple[dict[str, Any], ...]:
    events, at = [], draw(st.integers(-10, 10))
    for offset in range(draw(st.integers(0, 12))):
        at += draw(st.integers(-8, 12))
        value = {"ts": at, "k": draw(st.sampled_from(["a", "b", None])), "v": offset, "x": at / 4}
        events.append({"source": "s", "partition": number, "offset": offset, "value": value})
    if draw(st.booleans()):
        place = {"source": "s", "partition": number, "offset": len(events)}
        events.append({**place, "control": {"end": True}})
    return tuple(events)
