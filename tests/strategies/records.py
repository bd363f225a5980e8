"""The records of lanes: good values, hard ones, bad ones of every kind, and control records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.strategies.logs import TOPIC, Event
from tests.strategies.scales import Clock

# Sums of ints stay within 64 bits: a log has fewer than 64 data records.
_INT_SUMMABLE = 2**57
_HARD_INTS = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, _INT_SUMMABLE, -_INT_SUMMABLE]
_WIDE_INTS = [*_HARD_INTS, 2**63 - 1, -(2**63), 2**62]
HARD_FLOATS = [
    *(0.0, -0.0, 0.1, 0.2, 0.3, -0.1, 1.0, -1.0, 3.0, 1e16, -1e16, 2.0**53, 2.0**53 + 2),
    *(1.1102230246251565e-16, 2.220446049250313e-16, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1e-308, 1e22, 123456789.125),
]
_STRINGS = ["a", "b", "", "Z", "é", "😀", "\ufffd", "line\nbreak", '"', "\u0000"]


@dataclass(frozen=True)
class Log:
    """What a log is drawn from."""

    clock: Clock
    times: st.SearchStrategy[int]
    partitions: int
    nullable_key: bool
    bad_values: bool
    records_max: int


@st.composite
def lanes(draw: st.DrawFn, log: Log) -> tuple[tuple[Event, ...], ...]:
    return tuple(draw(_lane(log, partition)) for partition in range(log.partitions))


@st.composite
def _lane(draw: st.DrawFn, log: Log, partition: int) -> tuple[Event, ...]:
    most = min(log.records_max, 63) // log.partitions - 1
    size = draw(st.one_of(st.integers(0, 4), st.integers(most // 2, most), st.just(most)))
    # Nearly sorted, so that some records are late and most are not.
    delay = st.sampled_from([0, 0, 0, 1, 2, 4, 8, 16, 30]).map(lambda n: n * log.clock.tick_us)
    drawn = [(draw(log.times), draw(delay)) for _ in range(size)]
    contents = [
        draw(_contents(log, ts_us)) for ts_us, delay_us in sorted(drawn, key=lambda d: d[0] + d[1])
    ]
    if draw(st.sampled_from([True, True, True, False])):
        contents.append({"control": {"end": True}})
        if draw(st.sampled_from([False, False, True])):
            contents.append(draw(_contents(log, draw(log.times))))
    offset = draw(st.integers(0, 3)) - 1
    lane = []
    for content in contents:
        offset += draw(st.sampled_from([1, 1, 1, 2, 50]))
        if "value" in content:
            content["value"]["p"] = partition
        lane.append({"source": TOPIC, "partition": partition, "offset": offset, **content})
    return tuple(lane)


@st.composite
def _contents(draw: st.DrawFn, log: Log, ts_us: int) -> Event:
    kind = draw(st.sampled_from(["good"] * 14 + ["bound", "beat", "bad", "bad"]))
    if kind == "bound":
        appended = draw(st.sampled_from([None, None, 0, 9, -3, -4]))
        ahead = {} if appended is None else {"append_us": ts_us + appended * log.clock.tick_us}
        return {"control": {"bound": ts_us}, **ahead}
    if kind == "bad" and log.bad_values and draw(st.integers(0, 3)) == 0:
        return {"control": draw(st.sampled_from(_NO_CONTROLS))}
    if kind == "beat":
        ahead_us = ts_us + draw(st.integers(0, 9)) * log.clock.tick_us
        keys: list[Event] = [*({"g": g} for g in ("a", "a", "b", None, 7)), {"h": 1}, {}]
        keyed = [{"bound": ahead_us, "on": key} for key in keys]
        beats = [{"now": ts_us}, {"seen": {"s/0": ts_us}}, {"now": ts_us, "seen": {"s/1": ts_us}}]
        chosen = draw(st.sampled_from(keyed) | st.sampled_from(beats))
        return {"control": draw(st.sampled_from([chosen] * 6 + [{"seen": {"else/0": 10**15}}]))}
    values = _values(nullable_key=log.nullable_key, spoilt=log.bad_values)
    event: Event = {"value": {"ts": log.clock.spell(ts_us), **draw(values)}}
    append = draw(st.sampled_from([None] * 6 + [0] * 6 + [9] * 6 + [-3, -4]))
    if append is not None:
        event["append_us"] = ts_us + append * log.clock.tick_us
    if kind == "bad" and log.bad_values:
        return draw(_spoiled(event))
    return event


@st.composite
def _values(draw: st.DrawFn, *, nullable_key: bool, spoilt: bool) -> Event:
    short = st.sampled_from(_STRINGS[:3])
    null = [None, "absent"]
    choices: dict[str, st.SearchStrategy[Any]] = {
        "g": st.one_of(short, short, st.sampled_from(_STRINGS)),
        "h": st.sampled_from([0, 1, -3, 2, 10, *null]),
        "v": st.one_of(st.integers(-9, 9), st.sampled_from([*_HARD_INTS, *null])),
        "w": st.one_of(st.integers(-9, 9), st.sampled_from([*_WIDE_INTS, *null])),
        "x": st.one_of(
            st.sampled_from([*HARD_FLOATS, *null]),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-5, 5),
        ),
    }
    if nullable_key:
        choices["g"] = st.one_of(choices["g"], st.sampled_from(null))
    elif spoilt and draw(st.integers(0, 30)) == 17:
        choices["g"] = st.sampled_from(null)
    value = {name: draw(choice) for name, choice in choices.items()}
    return {name: item for name, item in value.items() if item != "absent"}


_NO_CONTROLS: list[Any] = [
    *(None, [], "end", 7, {}, {"bund": 7}, {"end": False}, {"end": 1}, {"end": True, "bound": 1}),
    *({"bound": bound} for bound in ("5", True, 1.0, None, 2**63, -(2**63) - 1, 10**400)),
    *({"bound": 1, "on": on} for on in ([], "g", None)),
    *({"now": 1, "seen": seen} for seen in ([], {"s/0": "1"}, {"s/0": None})),
    *({"now": "1"}, {"now": 2**63}, {"seen": 3}, {"now": 1, "then": 2}),
    {"bound": 1, "on": {"g": "\ud800"}},
]

_RAW = [
    *("", "{", "nonsense", "[1]", "null", "\ufeff{}", "\ud800", '{"ts":NaN}', '{"ts":1}x'),
    *('{"ts":1,"g":"\\ud800"}', '{"ts":1,"g":"a","v":1e400}', '{"ts":1,"ts":2,"g":"a"}'),
    *('{"ts":1,"g":"a","x":1e400}', '{"ts":1,"g":"a","v":1,"v":"x"}', '{"g":"\\udc00","g":"a"}'),
    '{"ts":' + "[" * 2000 + "]" * 2000 + "}",
    '{"ts":' + "9" * 5000 + "}",
    '{"ts":1,"g":"a","x":' + "9" * 5000 + "}",
]


@st.composite
def _spoiled(draw: st.DrawFn, event: Event) -> Event:
    """An event with something wrong in it (now and then it is still good, which is fine)."""
    if draw(st.booleans()):
        return {"raw": draw(st.sampled_from(_RAW))}
    changes: list[Event] = [
        *({"ts": ts} for ts in (None, "x", 1.5, True, [1], 2**63, -(10**30), 10**17)),
        *({"g": g} for g in (None, 7, True, {}, [])),
        *({"v": v} for v in ("1", 1.0, True, 2**63, -(2**63) - 1, [])),
        *({"x": x} for x in ("1", False, {}, 10**400)),
        {"note": "?"},
        {"h": 1.0, "note": None},
        *({"g": g} for g in (None, None, None)),
        *({"z": z} for z in (None, 1)),
        {"g": None, "v": "1"},
    ]
    return {**event, "value": {**event["value"], **draw(st.sampled_from(changes))}}
