"""Pipelines in which families of queries occur, and logs for them."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.strategies import Case

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
MEMORYLESS = ["ordered", {"slack": "3 us"}, {"slack": "12 us"}]


@st.composite
def families(draw: st.DrawFn, *, fused: bool) -> Case:
    """A pipeline with several queries in few styles, and a log."""
    styles = [_style(draw) for _ in range(draw(st.integers(1, 2)))]
    queries = {
        f"q{number}": {
            "window": _window(draw),
            "aggregates": _aggregates(draw),
            **draw(st.sampled_from(styles)),
        }
        for number in range(draw(st.integers(2, 7)))
    }
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
