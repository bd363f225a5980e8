"""Random small pipelines, and logs for them that are drawn to the edges of their windows.

`cases()` gives a `Case`: the text of a pipeline file and, per lane, the events of EVENTS.jsonl as
dicts. All features of the release occur: several lanes, silent ones, holes in offsets, generators,
bounds and ends, sliding windows with and without gaps, origins, negative times, all late policies
in both modes, retention from 0, null keys, hard numbers, and bad values of every kind.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from hypothesis import strategies as st

TOPIC = "s"
Event = dict[str, Any]

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
_RICH_AGGREGATES = [
    *("var(w)", "stddev(x)", "var_pop(x)", "stddev_pop(v)", "first(g)", "last(x)", "collect(w)"),
    *("argmin(w)", "argmax(x, g)", "argmax(v, x)", "count_distinct(g)", "count_distinct(x)"),
    *("approx_count_distinct(w, 16)", "median(w)", "median(x)", "quantile(x, 0.9)", "top_k(v, 2)"),
    *("quantile(w, 0)", "approx_quantile(x, 50%)", "approx_quantile(w, 0.99, 5%)", "collect(h)"),
]
_UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}


@dataclass(frozen=True)
class Entry:
    """One record of a log, as the definition takes it."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


@dataclass(frozen=True)
class Case:
    """A pipeline and a log.

    Attributes:
        pipeline: the text of the file.
        lanes: each lane's events in offset order, as dicts in the shape of EVENTS.jsonl.
    """

    pipeline: str
    lanes: tuple[tuple[Event, ...], ...]

    @property
    def events(self) -> list[Event]:
        """One order of arrival: lane after lane."""
        return [event for lane in self.lanes for event in lane]


def entry(event: Event) -> Entry:
    """Read one event; the value is spelled as Python's json spells it."""
    value = None
    if "value" in event:
        value = json.dumps(event["value"], ensure_ascii=False).encode()
    elif "raw" in event:
        value = event["raw"].encode("utf-8", "surrogatepass")
    control = json.dumps(event["control"]).encode() if "control" in event else None
    place = (event["source"], event["partition"], event["offset"])
    return Entry(*place, value, control, event.get("append_us"))


def events_text(events: list[Event]) -> str:
    """Spell events as an EVENTS.jsonl file."""
    return "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)


@st.composite
def interleavings(draw: st.DrawFn, lanes: tuple[tuple[Event, ...], ...]) -> list[Event]:
    """An order of arrival of these lanes that keeps the order inside each."""
    turns = [number for number, lane in enumerate(lanes) for _ in lane]
    ahead = [iter(lane) for lane in lanes]
    return [next(ahead[number]) for number in draw(st.permutations(turns))]


@dataclass(frozen=True)
class _Clock:
    """The scale of a case: all lengths are whole ticks, all times near the windows' edges.

    Attributes:
        unit: of the event time.
        tick_us: smallest step of a time; a whole number of the unit.
        min_us, max_us: legal times, or None.
        max_ahead_us: how far beyond the append time, or None.
    """

    unit: str
    tick_us: int
    min_us: int | None
    max_us: int | None
    max_ahead_us: int | None

    def spell(self, ts_us: int) -> int | str:
        """A time as it stands in a value."""
        if self.unit == "iso":
            return _iso(ts_us)
        return ts_us // _UNIT_US[self.unit]


def _iso(ts_us: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ts_us)
    return moment.isoformat().replace("+00:00", "Z")


@dataclass(frozen=True)
class _Span:
    """A query's window in microseconds."""

    range_us: int
    slide_us: int
    origin_us: int


@st.composite
def cases(
    draw: st.DrawFn, *, kind: str = "sliding", bad_values: bool = True, records_max: int = 40
) -> Case:
    """A pipeline and a log for it.

    Args:
        draw: given by Hypothesis.
        kind: the class of all windows, one of `KINDS`; for others than sliding ones, PATTR and
            progress per key occur as well.
        bad_values: whether spoilt values occur (times out of range and records after the end may
            occur in any case).
        records_max: the greatest number of data records; at most 63.
    """
    clock = draw(_clocks())
    spans = draw(st.lists(_spans(clock), min_size=1, max_size=3))
    partitions = draw(st.integers(1, 1 if kind in _AS_THEY_ARRIVE and draw(st.booleans()) else 3))
    nullable_key = draw(st.booleans())
    per_key = kind != "sliding" and draw(st.sampled_from([False, False, True]))
    keyed = st.sampled_from([{"ordered_per": "g"}, {"punctuation": {"attr": "g"}}])
    epochs = draw(st.sampled_from([1, 1, 2, 3, 7])) * clock.tick_us
    retention = draw(st.sampled_from([0, 2, 10, 40, 1000])) * clock.tick_us
    document = {
        "name": "case",
        "source": {
            "topic": TOPIC,
            "partitions": partitions,
            "format": "json",
            "event_time": _event_time(clock),
            "fields": {
                "g": "string?" if nullable_key else "string",
                "p": "int?",
                "h": "int?",
                "v": "int?",
                "w": "int?",
                "x": "float?",
            },
            "disorder": draw(keyed if per_key else disorders(partitions, clock.tick_us)),
            "unknown_fields": draw(st.sampled_from(["dead_letter", "ignore"])),
        },
        "late": draw(_late(kind, epochs)),
        "retention": f"{retention} us",
        "shards": draw(st.integers(1, 4)),
        "queries": {
            f"q{n}": draw(_queries(kind, span, epochs, clock, per_key=per_key))
            for n, span in enumerate(spans)
        },
    }
    times = _times(clock, spans)
    log = _Log(clock, times, partitions, nullable_key, bad_values, records_max)
    lanes = draw(_lanes(log))
    return Case(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), lanes)


@st.composite
def disorders(draw: st.DrawFn, partitions: int, tick_us: int) -> str | Event:
    """A generator as a pipeline file spells it; half of them slack in time."""
    lengths = st.integers(0, 8).map(lambda n: f"{n * tick_us} us")
    lanes = [f"{TOPIC}/{partition}" for partition in range(partitions)]
    kind = draw(st.sampled_from(["slack"] * 4 + ["rows", "adaptive", "beat", "members", "punct"]))
    if kind == "slack":
        slack = draw(st.sampled_from([0, 1, 2, 5, 13])) * tick_us
        return draw(st.sampled_from(["ordered", {"slack": f"{slack} us"}]))
    if kind == "rows":
        return {"slack": f"{draw(st.sampled_from([0, 1, 2, 3, 7]))} rows"}
    if kind == "adaptive":
        share, over = draw(st.sampled_from(["0%", "10%", "34.5%", "0.5"])), draw(st.integers(1, 9))
        return {"adaptive": {"late": share, "over": f"{over} rows"}}
    if kind == "punct":
        return "punctuation"
    if kind == "beat":
        delays = {}
        for lane in lanes:
            extra = draw(st.integers(0, 6)) * tick_us
            shortest = draw(st.integers(0, 3)) * tick_us
            delays[lane] = {
                "max_delay": f"{shortest + extra} us",
                "min_delay": f"{shortest} us",
                "skew": draw(lengths),
            }
        return {"heartbeat": delays}
    attr, members = draw(st.sampled_from([("g", ["a", "b", ""]), ("h", [0, 1, -3])]))
    chosen = st.lists(st.sampled_from(members), max_size=2, unique=True)
    return {"ordered_per": {"attr": attr, "members": {lane: draw(chosen) for lane in lanes}}}


@st.composite
def _clocks(draw: st.DrawFn) -> _Clock:
    unit = draw(st.sampled_from(["us", "ms", "s", "iso"]))
    tick_us = _UNIT_US[unit] * draw(st.sampled_from([1, 1, 1000]))
    bounded = draw(st.booleans())
    return _Clock(
        unit=unit,
        tick_us=tick_us,
        min_us=-8 * tick_us if bounded else None,
        max_us=50 * tick_us if bounded else None,
        max_ahead_us=draw(st.sampled_from([None, 0, 3 * tick_us])),
    )


def _event_time(clock: _Clock) -> Event:
    rule: Event = {"field": "ts", "unit": clock.unit}
    if clock.min_us is not None and clock.max_us is not None:
        rule |= {"min": _iso(clock.min_us), "max": _iso(clock.max_us)}
    if clock.max_ahead_us is not None:
        rule["max_ahead"] = f"{clock.max_ahead_us} us"
    return rule


@st.composite
def _spans(draw: st.DrawFn, clock: _Clock) -> _Span:
    slide = draw(st.integers(1, 10))
    length = draw(
        st.one_of(
            st.just(slide),
            st.integers(2, 4).map(lambda n: n * slide),
            st.integers(slide, 25),
            st.integers(1, slide),
        )
    )
    origin = draw(st.sampled_from([0, 0, 0, 3, -4, -15, -15]))
    return _Span(length * clock.tick_us, slide * clock.tick_us, origin * clock.tick_us)


KINDS = (
    *("sliding", "keyed sliding", "landmark", "rows in the log's order", "rows by event time"),
    *("slide by tuple", "slide by n", "slide by rank", "session", "session of rows"),
)
# Classes that number rows as they arrive need all of a unit in one lane, as field `p` has it.
_AS_THEY_ARRIVE = ("rows in the log's order", "slide by n", "session of rows")
# Classes with two alignments.
_ALIGNED = ("sliding", "keyed sliding", "rows in the log's order", "rows by event time")
# Classes whose late records cannot be shown later.
_NO_UPDATE = ("rows in the log's order", "rows by event time", "slide by rank", "session of rows")


@st.composite
def _windows(draw: st.DrawFn, kind: str, span: _Span, tick_us: int, *, per_key: bool) -> str:
    """A window of a class; its lengths are a span's."""
    time, slide = f"RANGE {span.range_us} us", f"SLIDE {span.slide_us} us"
    rows, by_rows = f"RANGE {span.range_us // tick_us} rows", span.slide_us // tick_us
    if kind.startswith("rows") and draw(st.sampled_from([False, False, True])):
        rows = "RANGE LANDMARK"
    origin = f" ORIGIN {span.origin_us} us" if span.origin_us else ""
    window = {
        "sliding": f"{time} {slide} WATTR ts{origin}",
        "keyed sliding": f"{time} {slide} WATTR ts{origin}",
        "landmark": f"RANGE LANDMARK {slide} WATTR ts{origin}",
        "rows in the log's order": f"{rows} SLIDE {by_rows} rows WATTR row_num",
        "rows by event time": f"{rows} SLIDE {by_rows} rows WATTR row_num ORDER event_time",
        "slide by tuple": f"{time} SLIDE 1 row RATTR ts SATTR row_num",
        "slide by n": f"{time} SLIDE {draw(st.integers(2, 4))} rows RATTR ts SATTR row_num",
        "slide by rank": f"{time} SLIDE {draw(st.integers(1, 4))} rows RATTR ts SATTR rank(ts)",
        "session": f"SESSION {span.slide_us} us WATTR ts",
        "session of rows": f"SESSION {draw(st.integers(1, 4))} rows WATTR row_num",
    }[kind]
    if (
        kind in _ALIGNED
        and "LANDMARK" not in window
        and draw(st.sampled_from([False, False, True]))
    ):
        window += " ALIGN start"
    if kind == "sliding":
        return window
    parts = ["", " PATTR g"]
    if kind in _AS_THEY_ARRIVE:
        parts = ["", *[" PATTR p"] * 6, " PATTR g"]
    if per_key and kind not in ("rows in the log's order", "session of rows"):
        parts = [" PATTR g"]
    return window + draw(st.sampled_from(parts))


def _late(kind: str, every_us: int) -> st.SearchStrategy[Event]:
    """What may become of late records of a class."""
    mode = st.sampled_from(["generous", "consistent"])
    refuse = st.fixed_dictionaries(
        {"policy": st.sampled_from(["drop", "dead_letter"]), "mode": mode}
    )
    if kind in _NO_UPDATE:
        return refuse
    update = st.fixed_dictionaries(
        {
            "policy": st.just("update"),
            "every": st.just(f"{every_us} us"),
            "mode": st.just("generous") if kind == "landmark" else mode,
        }
    )
    return st.one_of(update, refuse, update)


@st.composite
def _queries(
    draw: st.DrawFn, kind: str, span: _Span, every_us: int, clock: _Clock, *, per_key: bool
) -> Event:
    pool = ["count", *(f"{f}({n})" for f in ("sum", "mean", "min", "max") for n in ("v", "x"))]
    pool += ["mean(w)", "min(w)", "max(w)"]
    # As likely together as the plain ones: each draws half of the aggregates.
    one = st.sampled_from(pool) | st.sampled_from(_RICH_AGGREGATES)
    chosen = draw(st.lists(one, min_size=1, max_size=4, unique=True))
    query: Event = {
        "window": draw(_windows(kind, span, clock.tick_us, per_key=per_key)),
        "group_by": draw(
            st.sampled_from([[], [], [], ["g"], ["g"], ["h"], ["g", "h"], ["h", "g"], ["x"]])
        ),
        "aggregates": {f"a{number}": text for number, text in enumerate(chosen)},
    }
    accumulation = draw(st.sampled_from([None, None, "discarding", "retracting"]))
    if accumulation is not None:
        query["accumulation"] = accumulation
    if draw(st.booleans()):
        query["late"] = draw(_late(kind, every_us))
    if draw(st.booleans()):
        query["retention"] = f"{draw(st.sampled_from([0, 3, 15, 50])) * clock.tick_us} us"
    return query


def _times(clock: _Clock, spans: list[_Span]) -> st.SearchStrategy[int]:
    """Times at which something happens, their neighbours, and some in between."""
    edges: set[int] = set()
    for span in spans:
        for wid in range(8):
            end_us = span.origin_us + (wid + 1) * span.slide_us
            edges |= {end_us, end_us - span.range_us}
        edges.add(span.origin_us)
    near = [edge + step * clock.tick_us for edge in edges for step in (-1, 0, 0, 1)]
    anywhere = st.integers(-10, 60).map(lambda tick: tick * clock.tick_us)
    return st.one_of(st.sampled_from(sorted(near)), anywhere)


@dataclass(frozen=True)
class _Log:
    """What a log is drawn from."""

    clock: _Clock
    times: st.SearchStrategy[int]
    partitions: int
    nullable_key: bool
    bad_values: bool
    records_max: int


@st.composite
def _lanes(draw: st.DrawFn, log: _Log) -> tuple[tuple[Event, ...], ...]:
    return tuple(draw(_lane(log, partition)) for partition in range(log.partitions))


@st.composite
def _lane(draw: st.DrawFn, log: _Log, partition: int) -> tuple[Event, ...]:
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
def _contents(draw: st.DrawFn, log: _Log, ts_us: int) -> Event:
    kind = draw(st.sampled_from(["good"] * 14 + ["bound", "beat", "bad", "bad"]))
    if kind == "bound":
        return {"control": {"bound": ts_us}}
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
