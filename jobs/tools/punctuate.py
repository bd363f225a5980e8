"""Punctuations of a recorded log: the tightest bounds that hold for it.

Bound b, for each multiple b of a step, goes right after the last record of its lane below b: one
record earlier it would be false, one later it would be needlessly late. A lane's bounds run from
the first multiple above its smallest event time to the first above its largest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import polars as pl

from jobs.tools.recording import Event, Recording
from windowing.engine.columns import field_column
from windowing.engine.plan import closing_by_event_time, plan_of
from windowing.engine.reading.batches import Entry
from windowing.engine.wids import Ints, lowered
from windowing.engine.windows import cumulate
from windowing.engine.windows.calendar import grain_us
from windowing.model import Pipeline
from windowing.model.lengths import INT64_MAX
from windowing.model.limits import LATEST
from windowing.model.metadata import metadata_of
from windowing.model.source import Source
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window

Stops = Mapping[int, Mapping[int, list[bytes]]]
"""Per lane and offset, the control records that go right after that record."""

_END = b'{"end":true}'


class PunctuateError(ValueError):
    """A log or pipeline for which there are no punctuations."""

    exit_code = 2


def check_believed(pipeline: Pipeline) -> None:
    """Check that a pipeline believes bounds that nobody has signed.

    Raises:
        PunctuateError: it does not.
    """
    rule = pipeline.source.control
    if rule.believe == "none" or rule.key is not None:
        found = "none" if rule.believe == "none" else f"{{key: {rule.key}}}"
        msg = (
            f"source.control: {found}: the pipeline would not believe the bounds, which are not "
            "signed: try them with control: bounds"
        )
        raise PunctuateError(msg)


def step_of(pipeline: Pipeline) -> int:
    """Find the largest step, in microseconds, of which every window end is a multiple.

    For windows defined by records, which close right after a record, it is a microsecond.

    Raises:
        PunctuateError: no window depends on event time.
    """
    # A join, and operators in canonical order, take each record right after its own time.
    step_us = 1 if any(flow.window is None and flow.waits for flow in pipeline.flows) else 0
    for flow in closing_by_event_time(plan_of(pipeline)):
        window = flow.query.window
        step_us = math.gcd(step_us, *_steps(window))
    if step_us == 0:
        msg = "no query goes by event time, whatever is promised: say --every 1min"
        raise PunctuateError(msg)
    return step_us


def _steps(window: Window) -> tuple[int, ...]:
    """Return lengths whose common divisor divides every window end."""
    match window.traits.ends:
        case Ends.SLIDES:
            return window.slide, window.origin
        case Ends.CALENDAR:
            return (grain_us(window),)
        case Ends.NUMBERED if window.traits.periodic:
            return window.slide, cumulate.grain_us(window)
        case _:
            return (1,)


def tightest_bounds(ts_us: Ints, every_us: int) -> Ints:
    """Return, after each record of a lane, the largest multiple that no later record is below.

    After the last record, it is the first multiple beyond all of them.

    Args:
        ts_us: event times in offset order.
        every_us: the step; positive.
    """
    if not len(ts_us):
        return np.empty(0, dtype=np.int64)
    later = np.minimum.accumulate(ts_us[::-1])[::-1][1:]
    beyond = (int(ts_us.max()) // every_us + 1) * every_us
    # The largest integer would mean that the lane has ended.
    last = beyond if beyond < INT64_MAX else beyond - every_us
    return np.append(lowered(later, later % every_us), np.int64(last))


def punctuations(
    pipeline: Pipeline, recording: Recording, every_us: int, per: str | None = None
) -> Stops:
    """Determine the positions of bounds.

    Args:
        per: a field; bounds for each of its values are added where they exceed the lane's own.

    Raises:
        PunctuateError: the pipeline has no such field.
    """
    if per is not None and per not in pipeline.source.fields:
        known = ", ".join(pipeline.source.fields) or "none"
        msg = f"--per {per}: the source has no such field; known: {known}"
        raise PunctuateError(msg)
    stops: dict[int, dict[int, list[bytes]]] = {}
    for partition, lane in recording.lanes.items():
        here = stops.setdefault(partition, {})
        limited = lane.with_columns(believed=_believed(pipeline, lane))
        promised = _rising(here, limited, every_us)
        if per is not None:
            _per_key(here, limited, promised, every_us, per)
    return stops


def _believed(pipeline: Pipeline, lane: pl.DataFrame) -> pl.Series:
    """Return, for each record, the largest bound accepted right after it, at its append time."""
    rule = pipeline.source.event_time
    believed = np.full(len(lane), rule.end_us)
    if rule.max_ahead_us is None:
        return pl.Series(believed)
    append_us = lane["append_us"].fill_null(INT64_MAX - rule.max_ahead_us).to_numpy()
    return pl.Series(np.minimum(believed, np.minimum(append_us, LATEST) + rule.max_ahead_us))


def _limited(bounds: Ints, believed: pl.Series) -> Ints:
    limited: Ints = np.maximum.accumulate(np.minimum(bounds, believed.to_numpy()))
    return limited


def _rising(stops: dict[int, list[bytes]], lane: pl.DataFrame, every_us: int) -> Ints:
    """Record each rise of a lane's bound; return the bound after each record."""
    offsets, ts_us = lane["offset"].to_list(), lane["ts_us"].to_numpy()
    bounds = _limited(tightest_bounds(ts_us, every_us), lane["believed"])
    for place in _rises(bounds, ts_us):
        stops.setdefault(offsets[place], []).append(_control(int(bounds[place])))
    return bounds


def _rises(bounds: Ints, ts_us: Ints) -> list[int]:
    """Return the places where a bound exceeds the previous one, and the initial one."""
    if not len(bounds):
        return []
    raised = np.maximum(bounds, ts_us.min())
    before = np.concatenate((ts_us.min(keepdims=True), raised[:-1]))
    return np.flatnonzero(raised > before).tolist()


def _per_key(
    stops: dict[int, list[bytes]], lane: pl.DataFrame, promised: Ints, every_us: int, per: str
) -> None:
    offsets, ts_us = lane["offset"].to_list(), lane["ts_us"].to_numpy()
    placed = lane.select(field_column(per), "believed").with_row_index("place")
    for (key,), part in placed.group_by(field_column(per), maintain_order=True):
        places = part["place"].to_numpy()
        bounds = _limited(tightest_bounds(ts_us[places], every_us), part["believed"])
        for number in _rises(bounds, ts_us[places]):
            place = int(places[number])
            if bounds[number] > promised[place]:
                control = _control(int(bounds[number]), {per: key})
                stops.setdefault(offsets[place], []).append(control)


def _control(bound_us: int, on: Mapping[str, object] | None = None) -> bytes:
    said = {"bound": bound_us} if on is None else {"bound": bound_us, "on": on}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def punctuated(
    source: Source, log: Iterable[Entry], stops: Stops, end: Collection[int] = ()
) -> Iterator[Event]:
    """Insert punctuations into the log.

    Records stay as they are, but for their offsets. An inserted record takes the offset after its
    neighbour's, and every later one of its lane moves up; gaps stay. It takes the append time of
    the record before it.

    Args:
        end: the lanes that get an end after their last record.
    """
    shift: dict[int, int] = {}
    last: dict[int, Event] = {}
    for entry in log:
        lane, offset = source.number(entry.source, entry.partition), entry.offset
        assert lane is not None  # noqa: S101 - the log is the source's
        moved = offset + shift.get(lane, 0)
        last[lane] = Event(
            *(entry.source, entry.partition, moved, entry.value, entry.control, entry.append_us),
            metadata_of(entry),
        )
        yield last[lane]
        for control in stops.get(lane, {}).get(offset, ()):
            shift[lane] = shift.get(lane, 0) + 1
            last[lane] = _after(last[lane], control)
            yield last[lane]
    for lane in sorted(end):
        part, partition = source.place(lane)
        before = last.get(lane, Event(part.topic, partition, -1, None, None, None))
        yield _after(before, _END)


def _after(before: Event, control: bytes) -> Event:
    return Event(
        before.source, before.partition, before.offset + 1, None, control, before.append_us
    )
