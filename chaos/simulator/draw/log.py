"""Draw logs for any pipeline: nearly sorted lanes, all kinds of control records, offset gaps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from chaos.simulator.case import Event
from chaos.simulator.draw.axis import Axis, number_axes, time_axis
from chaos.simulator.draw.clock import draw_spelling
from chaos.simulator.draw.computed import draw_metadata
from chaos.simulator.draw.duplicates import repeat
from chaos.simulator.draw.spellings import nested
from chaos.simulator.draw.values import Values, draw_no_control, draw_poison, draw_raw
from chaos.simulator.draw.wish import Wish
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Pipeline
from windowing.model.progress import Heartbeat, OrderedPer, Punctuation
from windowing.model.reading import JSON
from windowing.model.registry import Registry
from windowing.model.source import Source
from windowing.model.types import FieldType
from windowing.model.windows.sliding import has_extents

Lanes = tuple[tuple[Event, ...], ...]

_INT64_MAX = 2**63 - 1
_LONG = (150, 200, 300)
_CROWDED = (300, 700, 3_600)
"""Numbers of records where each may have its own key."""


FORMAT_DRAWS: Final = Registry[Callable[[Any, dict[str, Any]], str]]("format_draw", "format_draws")
"""How values are written in formats other than JSON, by name: from settings and members."""

_Draw = TypeVar("_Draw", bound=Callable[..., str])


def format_draw(name: str) -> Callable[[_Draw], _Draw]:
    """Register the decorated function, which writes members in the format of this name.

    Raises:
        PluginError: the name is taken.
    """
    return FORMAT_DRAWS.entry(name)


@dataclass(frozen=True)
class _Log:
    """The parameters of a log.

    Attributes:
        time: the axis of the event time.
        numbers: the axes of plain numbers.
        largest: by summed field, the largest int.
        keys: the number of keys where sums leave int64; 0: any.
        units: fields that name the unit of rows counted in order of arrival.
        values: what other fields have.
    """

    pipeline: Pipeline
    time: Axis
    numbers: dict[str, Axis]
    largest: dict[str, int]
    keys: int
    units: frozenset[str]
    values: Values
    bad_values: bool


def draw_log(rng: random.Random, pipeline: Pipeline, wish: Wish | None = None) -> Lanes:
    """Draw the lanes of a log, with a few dozen, hundreds or thousands of records."""
    wish = wish or Wish()
    lanes = pipeline.source.partitions
    # Where every batch costs much, fewer logs are long.
    small = len(pipeline.flows) * pipeline.shards <= 2
    long = rng.random() < wish.long * (1.8 if small else 0.2)
    most = rng.choice(_LONG) if long else min(rng.choice([12, 16, 24, 40]), wish.records_max)
    crowded = _is_cheap(pipeline) and rng.random() < wish.crowded
    if crowded:
        most = rng.choice(_CROWDED)
    overflow = not crowded and rng.random() < wish.overflow
    log = _Log(
        pipeline,
        time_axis(rng, pipeline, long=long),
        number_axes(rng, pipeline, long=long),
        _largest(pipeline, rng.choice([1, 1, 2]) if overflow else most + 4),
        rng.choice([1, 1, 2]) if overflow else 0,
        _units(pipeline),
        Values.drawn(rng, distinct=3 * most if crowded else 0),
        wish.bad_values,
    )
    return tuple(_lane(rng, log, number, max(2, most // lanes)) for number in range(lanes))


def _is_cheap(pipeline: Pipeline) -> bool:
    """Whether there are keys, and the definition takes little time: few windows hold a record."""
    first, *others = pipeline.flows
    window = first.window
    if others or window is None or not first.key:
        return False
    return has_extents(window) and 0 < (window.range_ or 0) <= 3 * window.slide


def _largest(pipeline: Pipeline, records: int) -> dict[str, int]:
    """Return the limit of summed ints so that the sum of so many records fits into int64."""
    ints = {name for name, type_ in _declared(pipeline) if type_.kind == "int"}
    summed = {
        aggregate.field
        for aggregate in _aggregates(pipeline)
        if aggregate.function == "sum" and aggregate.field in ints
    }
    return dict.fromkeys(summed, _INT64_MAX // records)


def _declared(pipeline: Pipeline) -> Iterator[tuple[str, FieldType]]:
    for part in pipeline.source.parts:
        yield from part.declared.items()


def _aggregates(pipeline: Pipeline) -> Iterator[Aggregate]:
    for flow in pipeline.flows:
        yield from flow.aggregates


def _units(pipeline: Pipeline) -> frozenset[str]:
    """Return the fields whose values must each stay in one lane, because their rows are counted."""
    return frozenset(
        window.pattr
        for window in pipeline.windows
        if window.traits.counts_arrivals
        and window.pattr is not None
        and pipeline.source.fields[window.pattr].kind == "int"
        and window.pattr in pipeline.source.declared
        and pipeline.source.partitions > 1
    )


def _lane(rng: random.Random, log: _Log, number: int, most: int) -> tuple[Event, ...]:
    source, own = log.pipeline.source.place(number)
    # Where idle lanes show, more of them say nothing for long, not even that they have ended.
    idle = log.pipeline.source.idle_timeout_us is not None
    several = log.pipeline.source.partitions > 1
    silent = several and rng.random() < (0.4 if idle else 0.1)
    # Many lanes have few records each.
    least = most - 2 if most > max(_LONG) else most // 2
    size = rng.randint(0, 2) if silent else rng.randint(least, max(least, most - 2))
    times = _nearly_sorted(rng, log.time, size)
    numbers = {name: _nearly_sorted(rng, axis, size) for name, axis in log.numbers.items()}
    ends = rng.random() < (0.25 if silent and idle else 0.75)
    if behind := ends and rng.random() < 0.25:
        times.append(log.time.value(rng))
        for name, axis in log.numbers.items():
            numbers[name].append(axis.value(rng))
    fields = _fields(rng, log, number, len(times))
    if source.duplicates is not None:
        repeat(rng, source.duplicates, log.time.tick, times, fields)
    contents = [
        _content(
            rng,
            log,
            number,
            ts_us,
            {name: column[at] for name, column in fields.items()}
            | {name: values[at] for name, values in numbers.items()},
        )
        for at, ts_us in enumerate(times)
    ]
    if ends:
        contents.insert(len(contents) - behind, {"control": {"end": True}})
    holes = not source.dense or rng.random() < 0.04
    offset, lane = rng.choice([-1, 0, 4]), list[Event]()
    for content in contents:
        offset += rng.choice([1, 1, 1, 2, 50]) if holes else 1
        lane.append({"source": source.topic, "partition": own, "offset": offset, **content})
    return tuple(lane)


def _nearly_sorted(rng: random.Random, axis: Axis, size: int) -> list[int]:
    """Draw values in the order of arrival, by their delays."""
    drawn = [(axis.value(rng), axis.delay(rng)) for _ in range(size)]
    return [value for value, _ in sorted(drawn, key=sum)]


def _content(
    rng: random.Random, log: _Log, number: int, ts_us: int, fields: dict[str, Any]
) -> Event:
    source, _ = log.pipeline.source.place(number)
    # Where records give no bounds, control records must.
    by_control = isinstance(source.disorder, Punctuation | Heartbeat) or _keyed(source)
    if rng.random() < (0.25 if by_control else 0.1):
        return _appended(rng, log, ts_us, {"control": _control(rng, log, source, ts_us)})
    if log.bad_values and rng.random() < 0.04:
        return rng.choice([{"raw": draw_raw(rng)}, {"control": draw_no_control(rng)}])
    time = source.event_time
    value = {time.field: draw_spelling(rng, ts_us, time.spelling), **fields}
    for name, type_ in source.declared.items():
        if type_.kind == "timestamp" and value.get(name) is not None:
            value[name] = draw_spelling(rng, value[name], time.spelling)
    missing = [name for name in fields if fields[name] is None and source.declared[name].nullable]
    for name in missing:
        if rng.random() < 0.5:
            del value[name]
    if source.unknown_fields == "ignore" and rng.random() < 0.2:
        value["unknown"] = rng.choice([None, 1, {"a": []}])
    if log.bad_values and rng.random() < 0.07:
        value |= draw_poison(rng, source, log.units | frozenset(log.numbers))
    value = nested(value, source, spoilt=log.bad_values)
    if source.format == JSON:
        return _appended(rng, log, ts_us, {"value": value} | draw_metadata(rng, source, ts_us))
    draw = FORMAT_DRAWS.required(source.format.name)
    raw = {"raw": draw(source.format.data, value)}
    return _appended(rng, log, ts_us, raw | draw_metadata(rng, source, ts_us))


def _appended(rng: random.Random, log: _Log, ts_us: int, event: Event) -> Event:
    """Add the broker's time to an event, if there is one; sometimes earlier than the event's."""
    if rng.random() < 0.6:
        event["append_us"] = ts_us + rng.choice([0, 0, 0, 1, 9, 9, -3, -4]) * log.time.tick
    return event


def _keyed(source: Source) -> bool:
    return isinstance(source.disorder, OrderedPer)


def _fields(rng: random.Random, log: _Log, number: int, rows: int) -> dict[str, list[Any]]:
    """Draw the fields of a lane's records, except for those that determine their windows."""
    source, _ = log.pipeline.source.place(number)
    apart = {source.event_time.field, *log.numbers, *log.units}
    types = {name: type_ for name, type_ in source.declared.items() if name not in apart}
    units = {name: [number] * rows for name in log.units}
    table = log.values.table(rng, types, rows, log.largest)
    if log.keys and log.largest:
        # Each of many keys would have too few records.
        values = log.values
        known = {"string": values.texts, "int": values.ints, "float": values.floats}
        few_of = [name for name in table if name not in log.largest and types[name].kind in known]
        for name in few_of:
            few = known[types[name].kind][: log.keys]
            table[name] = [rng.choice(few) for _ in range(rows)]
    return table | units


def _control(rng: random.Random, log: _Log, source: Source, ts_us: int) -> dict[str, Any]:
    """Draw a control record, mostly of the kind that the generator uses."""
    ahead_us = ts_us + rng.randint(0, 9) * log.time.tick
    lanes = [f"{source.topic}/{partition}" for partition in range(source.partitions)]
    keys: list[dict[str, Any]] = [{"g": key} for key in ("a", "a", "b", None, 7)]
    keyed: dict[str, Any] = {"bound": ahead_us, "on": rng.choice([*keys, *keys, {"h": 1}, {}])}
    beats: list[dict[str, Any]] = [
        {"now": ts_us},
        {"seen": {rng.choice(lanes): ts_us}},
        {"now": ts_us, "seen": {rng.choice(lanes): ahead_us}},
        {"now": ahead_us, "seen": {}},
        {"seen": {"else/0": 10**15}},
    ]
    bound = {"bound": rng.choice([ts_us, ts_us, ahead_us])}
    if rng.random() < 0.06:
        # After such a bound only late records can come, but the lane has not ended.
        far_us = rng.choice([source.event_time.end_us, _INT64_MAX, 1 - _INT64_MAX])
        return rng.choice([{"bound": far_us}, {"now": far_us}, {"seen": {lanes[0]: far_us}}])
    attr = getattr(source.disorder, "attr", None)
    if isinstance(source.disorder, Heartbeat):
        return rng.choice([*beats, bound])
    if attr is not None:
        return rng.choice([keyed, keyed, keyed, bound, beats[0]])
    return rng.choice([bound, bound, bound, keyed, *beats[:2]])
