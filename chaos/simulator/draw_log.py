"""Random small logs for any pipeline: times at the edges of its windows, disorder around its slack.

Nothing here knows what is right; the definition says that afterwards.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from chaos.simulator.case import Event
from windowing.spec.disorder import Slack
from windowing.spec.fields import FieldType
from windowing.spec.pipeline import Pipeline, Query, Source
from windowing.spec.window import ROW_NUM, Window, WindowClass

_UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_1_US = -62_135_596_800_000_000
_YEAR_9999_US = 253_402_300_799_000_000

_STRINGS = ("a", "a", "b", "b", "c", "", "é", "😀", '"')
# A log has fewer than 64 data records, so that no sum of ints leaves 64 bits.
_INTS = (0, 1, -1, 2, 3, 2**53 + 1, 2**57, -(2**57))
_FLOATS = (0.0, -0.0, 0.1, 0.2, 0.3, -0.1, 1e16, -1e16, 1e308, 5e-324, 123456789.125)
_RAW = ("", "{", "nonsense", "[1]", "null", "\ud800", '{"ts":NaN}')
_RECORDS_MAX = 60


@dataclass(frozen=True)
class _Scale:
    """Where a log's times lie.

    Attributes:
        edges: instants at which something happens to a window.
        delays: how much later than its time a record may come.
        tick_us: the smallest step of a time.
        unit: how times are spelled.
    """

    edges: tuple[int, ...]
    delays: tuple[int, ...]
    tick_us: int
    unit: str

    def time_us(self, rng: random.Random) -> int:
        """A time, most likely at an edge or beside one."""
        low, high = self.edges[0], self.edges[-1]
        if rng.random() < 0.5:
            ts_us = rng.randint(low, high)
        else:
            ts_us = rng.choice(self.edges) + rng.choice([-1, 0, 0, 1]) * self.tick_us
        return max(_YEAR_1_US, min(_YEAR_9999_US, ts_us - ts_us % _UNIT_US[self.unit]))


def draw_log(rng: random.Random, pipeline: Pipeline) -> tuple[tuple[Event, ...], ...]:
    """Draw the lanes of a log, 10 to 60 records in all."""
    scale = _scale(rng, pipeline)
    partitions = pipeline.source.partitions
    most = min(rng.choice([16, 24, 40]), _RECORDS_MAX) // partitions
    return tuple(_lane(rng, pipeline, scale, number, most) for number in range(partitions))


def _scale(rng: random.Random, pipeline: Pipeline) -> _Scale:
    source, query = pipeline.source, rng.choice(pipeline.queries)
    window, unit = query.window, source.event_time.unit
    length, slide = _lengths_us(pipeline, window)
    tick_us = max(_UNIT_US[unit], min(length, slide) // 12)
    start = max(window.origin, source.event_time.min_us + length, _YEAR_1_US)
    first = (start - window.origin) // slide + rng.choice([0, 0, 5])
    ends = [window.origin + (first + number) * slide for number in range(1, 8)]
    edges = sorted({*ends, *(end - length for end in ends)})
    # Other generators have no slack that is known beforehand; a slide is of the right size.
    slack_us = source.disorder.slack_us if isinstance(source.disorder, Slack) else slide
    lengths = [slack_us, slack_us + tick_us, slack_us + slide, slack_us + length]
    lengths += [slack_us + part for part in _late_lengths(query)]
    # Disorder far beyond the log's own span cannot be told from more disorder.
    span_us = edges[-1] - edges[0]
    delays = [min(delay, 2 * span_us) for delay in lengths]
    return _Scale(tuple(edges), (0, 0, 0, 0, *delays), tick_us, unit)


def _lengths_us(pipeline: Pipeline, window: Window) -> tuple[int, int]:
    """How long a window is, and how far apart two are; what it counts in rows takes the slack."""
    source = pipeline.source
    if pipeline.join is not None:
        reaches = [side.window_us for side in (pipeline.join.left, pipeline.join.right)]
        reach = max(2, *(us for us in reaches if us is not None), 0)
        return reach, reach
    if window.kind is WindowClass.TUPLE or window.attribute == ROW_NUM:
        slack_us = source.disorder.slack_us if isinstance(source.disorder, Slack) else 0
        length = max(slack_us, 6 * _UNIT_US[source.event_time.unit])
        return length, length
    if window.kind in (WindowClass.SLIDING, WindowClass.LANDMARK):
        return window.range_ or window.slide, window.slide
    return window.range_ or 1, window.range_ or 1


def _late_lengths(query: Query) -> list[int]:
    return [us for us in (query.late.every_us, query.retention_us) if us is not None]


def _lane(
    rng: random.Random, pipeline: Pipeline, scale: _Scale, partition: int, most: int
) -> tuple[Event, ...]:
    silent = pipeline.source.partitions > 1 and rng.random() < 0.1
    # Many lanes have few records each.
    size = rng.randint(0, 2) if silent else rng.randint(most // 2, max(most // 2, most - 2))
    drawn = [(scale.time_us(rng), rng.choice(scale.delays)) for _ in range(size)]
    drawn.sort(key=sum)
    source, own = pipeline.source.place(partition)
    contents = [_content(rng, source, scale, ts_us) for ts_us, _ in drawn]
    if rng.random() < 0.75:
        contents.append({"control": {"end": True}})
        if rng.random() < 0.2:
            contents.append(_content(rng, source, scale, scale.time_us(rng)))
    steps = [1] if source.dense else [1, 1, 1, 2, 50]
    offset, lane = rng.choice([-1, 0, 4]), []
    for content in contents:
        offset += rng.choice(steps)
        place = {"source": source.topic, "partition": own, "offset": offset}
        lane.append({**place, **content})
    return tuple(lane)


def _content(rng: random.Random, source: Source, scale: _Scale, ts_us: int) -> Event:
    choice = rng.random()
    if choice < 0.05:
        return {"control": {"bound": ts_us}}
    if choice < 0.07:
        return {"control": {"now": ts_us, "seen": {}}}
    if choice < 0.09:
        return {"raw": rng.choice(_RAW)}
    value: dict[str, Any] = {source.event_time.field: _spell(ts_us, scale.unit)}
    for name, type_ in source.fields.items():
        if name != source.event_time.field:
            value[name] = _field(rng, type_)
    if choice < 0.16:
        value |= _poison(rng, source)
    event: Event = {"value": value}
    if rng.random() < 0.5:
        behind_us = rng.choice([0, 0, 1, 9, -3, -5]) * scale.tick_us
        event["append_us"] = ts_us + behind_us
    return event


def _spell(ts_us: int, unit: str) -> int | str:
    if unit == "iso":
        moment = _EPOCH + timedelta(microseconds=ts_us)
        return moment.isoformat().replace("+00:00", "Z")
    return ts_us // _UNIT_US[unit]


def _field(rng: random.Random, type_: FieldType) -> object:
    if type_.nullable and rng.random() < 0.15:
        return None
    if type_.kind == "string":
        return rng.choice(_STRINGS)
    if type_.kind == "int":
        return rng.choice(_INTS) if rng.random() < 0.3 else rng.randint(-9, 9)
    return rng.choice(_FLOATS) if rng.random() < 0.6 else rng.uniform(-1e3, 1e3)


def _poison(rng: random.Random, source: Source) -> dict[str, object]:
    """Something that spoils a value."""
    time, fields = source.event_time.field, [*source.fields]
    spoilt_times: tuple[object, ...] = (None, "x", 1.5, True, 10**17, -(10**30))
    spoilt_values: tuple[object, ...] = (None, True, [], 2**63)
    changes: list[dict[str, object]] = [{"slackwater_does_not_know": 1}]
    changes += [{time: value} for value in spoilt_times]
    changes += [{name: value} for name in fields for value in spoilt_values]
    return rng.choice(changes)
