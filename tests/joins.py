"""Random joins of two small topics, and logs for them, drawn to the edges of their windows."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.strategies import Case, Event

_CONDITIONS = ["left.v < right.w", "left.v != right.w", "left.v >= 0", "right.s = 'a'"]
_TIMES = {"l": "ts", "r": "at"}
_STEPS = st.tuples(
    st.integers(-2, 7),  # how far time climbs
    st.sampled_from([0, 0, 0, 3, 7, 15]),  # how far behind it the record is
    st.sampled_from(["a", "a", "b", None, "bound", "bad"]),
    st.integers(-9, 9) | st.none(),
)


@st.composite
def join_cases(draw: st.DrawFn, steps_max: int = 12) -> Case:
    """A pipeline that joins topics l and r, and a log of both."""
    window = st.one_of(st.none(), st.integers(0, 10))
    sides = {
        "left": draw(_sides("l", {"k": "string?", "v": "int?"}, window)),
        "right": draw(_sides("r", {"s": "string?", "w": "int?"}, window)),
    }
    join = {
        **sides,
        "kind": draw(st.sampled_from(["inner", "left", "right", "full"])),
        "equal": draw(st.sampled_from([{}, {"k": "s"}, {"k": "s"}, {"v": "w"}])),
        "where": draw(st.lists(st.sampled_from(_CONDITIONS), max_size=1)),
        "select": {"v": "left.v", "w": "right.w", "k": "left.k"},
    }
    document: dict[str, Any] = {"name": "j", "join": join, "shards": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        document["late"] = {"policy": "update", "every": f"{draw(st.sampled_from([1, 5, 8]))} us"}
        document["retention"] = f"{draw(st.integers(0, 15))} us"
    else:
        document["late"] = {"policy": draw(st.sampled_from(["drop", "dead_letter"]))}
        if draw(st.booleans()):
            document["retention"] = f"{draw(st.integers(0, 15))} us"
    lanes = tuple(
        draw(_lane(side["source"]["topic"], partition, steps_max))
        for side in sides.values()
        for partition in range(side["source"]["partitions"])
    )
    return Case(yaml.safe_dump(document, sort_keys=False), lanes)


@st.composite
def _sides(
    draw: st.DrawFn, topic: str, fields: dict[str, str], windows: st.SearchStrategy[int | None]
) -> dict[str, Any]:
    slack = draw(st.sampled_from(["0 us", "3 us"]))
    source = {
        "topic": topic,
        "partitions": draw(st.integers(1, 2)),
        "format": "json",
        "event_time": {"field": _TIMES[topic], "unit": "us"},
        "fields": fields,
        "disorder": draw(st.sampled_from([{"slack": slack}, "punctuation"])),
    }
    window = draw(windows)
    return {"source": source, **({} if window is None else {"window": f"{window} us"})}


@st.composite
def _lane(draw: st.DrawFn, topic: str, partition: int, steps_max: int) -> tuple[Event, ...]:
    key, value = {"l": ("k", "v"), "r": ("s", "w")}[topic]
    now, offset, lane = draw(st.integers(-6, 6)), -1, list[Event]()
    for climb, back, what, number in draw(st.lists(_STEPS, max_size=steps_max)):
        now, offset = now + climb, offset + draw(st.sampled_from([1, 1, 3]))
        event: Event = {"source": topic, "partition": partition, "offset": offset}
        if what == "bound":
            event["control"] = {"bound": now}
        elif what == "bad":
            event["raw"] = f'{{"{_TIMES[topic]}":1.5}}'
        else:
            event["value"] = {_TIMES[topic]: now - back, key: what, value: number}
        lane.append(event)
    if draw(st.sampled_from([True, True, False])):
        end = {"control": {"end": True}}
        lane.append({"source": topic, "partition": partition, "offset": offset + 1, **end})
    return tuple(lane)
