"""Positions of a log's records: at the edges of windows, with disorder around the slack."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.progress import Disorder, Slack
from windowing.model.query import Flow, JoinQuery
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.policy import Time
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import ROW_NUM
from windowing.semantics import meaning_of
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.window_joins import WindowJoinDefinition

_YEAR_1 = -62_135_596_800_000_000
_DAY_US, _DAYS_MAX = 86_400_000_000, 130
_YEAR_9999 = 253_402_300_799_000_000


@dataclass(frozen=True)
class Axis:
    """The distribution of an attribute's values; times are microseconds.

    Attributes:
        edges: per query, values at which windows begin or end.
        delays: how much later than its value a record may come.
        step: values are whole multiples of it.
    """

    edges: tuple[tuple[int, ...], ...]
    delays: tuple[int, ...]
    tick: int
    step: int

    def value(self, rng: random.Random) -> int:
        """Draw a value, most likely at an edge or next to one."""
        edges = rng.choice(self.edges)
        if rng.random() < 0.4:
            value = rng.randint(edges[0], edges[-1])
        else:
            by = rng.choice([-self.tick, 0, 0, self.tick, -self.step, self.step])
            value = rng.choice(edges) + by
        return max(_YEAR_1, min(_YEAR_9999, value - value % self.step))

    def delay(self, rng: random.Random) -> int:
        """Draw the delay of a record; half of the records are not delayed."""
        return 0 if rng.random() < 0.5 else rng.choice(self.delays)


def time_axis(rng: random.Random, pipeline: Pipeline, *, long: bool) -> Axis:
    """Return the axis of event time.

    It has the edges of the pipeline's windows; for many records, a `long` one has those of many.
    """
    field = pipeline.source.event_time.field
    timed = [flow for flow in pipeline.flows if flow.attribute in (field, ROW_NUM)]
    return _axis(rng, pipeline, timed or pipeline.flows, long=long)


def number_axes(rng: random.Random, pipeline: Pipeline, *, long: bool) -> dict[str, Axis]:
    """Return the axes of all other attributes that have windows, by field."""
    field = pipeline.source.event_time.field
    names = {window.attribute for window in pipeline.windows} - {field, ROW_NUM}
    return {
        name: _axis(
            rng, pipeline, [q for q in pipeline.of(Query) if q.attribute == name], long=long
        )
        for name in sorted(names)
    }


def _axis(rng: random.Random, pipeline: Pipeline, flows: Sequence[Flow], *, long: bool) -> Axis:
    source = pipeline.source
    attribute = source.ordered_by(flows[0].attribute)
    timed = attribute == source.event_time.field
    step = source.event_time.spelling.unit_us if timed else 1
    least = source.event_time.min_us if timed else _YEAR_1
    generator = source.disorder if timed else source.generator_of(attribute)
    skip, many = rng.choice([0, 0, 5]), 40 if long else 7
    all_edges, delays, ticks = [], {0}, []
    for query in flows:
        window = query.extents_in
        if window is not None and window.traits.ends in (Ends.NUMBERED, Ends.CALENDAR):
            local = window.traits.ends is Ends.CALENDAR or window.traits.periodic
            odd = local and rng.random() < 0.9
            ahead = _first_odd(query, max(least, 0)) - rng.randint(1, 5) if odd else skip
            edges, length, slide = _numbered(query, max(least, 0), max(ahead, 0), many)
        else:
            length, slide = _LENGTHS[query.flow_kind](query, generator, step)
            origin, first = window.origin if window else 0, max(least + length, _YEAR_1)
            edges = _edges(origin, (length, slide), first, skip, many)
        tick = max(step, min(length, slide) // 12)
        all_edges.append(tuple(edges))
        ticks.append(tick)
        slack = _slack(generator, slide)
        lengths = [slack, slack + tick, slack + slide, slack + length]
        lengths += [slack + part for part in (query.late.every_us, query.retention_us) if part]
        if query.retention_us is not None:
            # Just within a window's retention, and just beyond it.
            lengths += [slack + query.retention_us + length - near for near in (0, tick)]
        # Beyond the log's own span, more disorder makes no difference.
        span = edges[-1] - edges[0]
        delays |= {min(delay, 2 * span) for delay in lengths}
    return Axis(tuple(all_edges), tuple(sorted(delays)), min(ticks), step)


def _edges(origin: int, lengths: tuple[int, int], least: int, skip: int, many: int) -> list[int]:
    """Return starts and ends of windows, from the first that holds nothing below `least`."""
    length, slide = lengths
    first = (max(origin, least) - origin) // slide + skip
    ends = [origin + (first + number) * slide for number in range(many + 1)]
    return sorted({*ends, *(end - length for end in ends)})


def _numbered(query: Flow, least: int, skip: int, many: int) -> tuple[list[int], int, int]:
    """Return the definition's starts and ends, and length and slide of the first window."""
    definition = _by_value(query)
    first = definition.wids(least).start + skip
    extents = [definition.extent(first + number) for number in range(many + 1)]
    slide = extents[1][1] - extents[0][1]
    return sorted({edge for one in extents for edge in one}), extents[0][1] - extents[0][0], slide


def _by_value(query: Flow) -> ByValueDefinition:
    definition = meaning_of(query).definition
    if isinstance(definition, WindowJoinDefinition):
        definition = definition.windows
    assert isinstance(definition, ByValueDefinition)  # noqa: S101 - their values name them
    return definition


def _first_odd(query: Flow, least: int) -> int:
    """Return how many windows end before one that has no whole number of days."""
    definition = _by_value(query)
    first = definition.wids(least).start
    if query.window is not None and query.window.traits.periodic:
        # Periods, each by its last window; the first days may be before all.
        held = (definition.wids(least + day * _DAY_US) for day in range(_DAYS_MAX))
        lasts = [windows[-1] for windows in held if windows]
        lengths = [(last, *definition.extent(last)) for last in lasts]
        return next((last - first for last, start, end in lengths if (end - start) % _DAY_US), 0)
    for number in range(_DAYS_MAX):
        start, end = definition.extent(first + number)
        if (end - start) % _DAY_US:
            return number
    return 0


def _slack(generator: Disorder, slide: int) -> int:
    # Other generators have no slack known beforehand; a slide has the right magnitude.
    return generator.slack_us if isinstance(generator, Slack) else slide


def _reach(join: JoinQuery, _: Disorder, step: int) -> tuple[int, int]:
    """Return how far a side of a join looks back by its own window, and at least two steps."""
    if isinstance(join, PolicyJoinQuery):
        evictions = [window.eviction for window in join.windows]
        reach = max([2 * step, *(one.period_us for one in evictions if isinstance(one, Time))])
    else:
        reach = max(2 * step, join.left or 0, join.right or 0)
    return reach, reach


def _period(query: OperatorQuery, _: Disorder, step: int) -> tuple[int, int]:
    """Return the shortest period of a query's time policies; without one, a few steps."""
    windows = [one.window for one in query.windows]
    policies = [policy for window in windows for policy in (window.eviction, window.trigger)]
    periods = [policy.period_us for policy in policies if isinstance(policy, Time)]
    shortest = min(periods, default=6 * step)
    return shortest, shortest


def _lengths(query: Query | WindowJoinQuery, generator: Disorder, step: int) -> tuple[int, int]:
    """Return length and slide of windows; the slack for windows that count rows."""
    window = query.extents_in
    assert window is not None  # noqa: S101 - flows of these kinds have one
    if window.attribute == ROW_NUM:
        length = max(_slack(generator, 0), 6 * step)
        return length, length
    if window.traits.ends is Ends.SLIDES:
        return window.range_ or window.slide, window.slide
    return window.range_ or 1, window.range_ or 1


_LENGTHS: Final[Mapping[str, Callable[[Any, Disorder, int], tuple[int, int]]]] = {
    Query.flow_kind: _lengths,
    JoinQuery.flow_kind: _reach,
    AsofQuery.flow_kind: _reach,
    WindowJoinQuery.flow_kind: _lengths,
    OperatorQuery.flow_kind: _period,
}
"""Length and slide of what a flow's rows are made of, by its kind, at least a step each."""
