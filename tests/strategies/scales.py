"""The scale of a case: its unit of time, the lengths of its windows, and times near their edges."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tests.strategies.logs import Event

_UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}


@dataclass(frozen=True)
class Clock:
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
            return iso(ts_us)
        return ts_us // _UNIT_US[self.unit]


def iso(ts_us: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ts_us)
    return moment.isoformat().replace("+00:00", "Z")


@dataclass(frozen=True)
class Span:
    """A query's window in microseconds."""

    range_us: int
    slide_us: int
    origin_us: int


@st.composite
def clocks(draw: st.DrawFn, *, bounded: bool = False) -> Clock:
    # A legal time in a thousand years would ask for every landmark window until then.
    unit = draw(st.sampled_from(["us", "ms", "s", "iso"]))
    tick_us = _UNIT_US[unit] * draw(st.sampled_from([1, 1, 1000]))
    bounded = bounded or draw(st.booleans())
    return Clock(
        unit=unit,
        tick_us=tick_us,
        min_us=-8 * tick_us if bounded else None,
        max_us=50 * tick_us if bounded else None,
        max_ahead_us=draw(st.sampled_from([None, 0, 3 * tick_us])),
    )


def event_time(clock: Clock) -> Event:
    rule: Event = {"field": "ts", "unit": clock.unit}
    if clock.min_us is not None and clock.max_us is not None:
        rule |= {"min": iso(clock.min_us), "max": iso(clock.max_us)}
    if clock.max_ahead_us is not None:
        rule["max_ahead"] = f"{clock.max_ahead_us} us"
    return rule


@st.composite
def spans(draw: st.DrawFn, clock: Clock) -> Span:
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
    return Span(length * clock.tick_us, slide * clock.tick_us, origin * clock.tick_us)


def times(clock: Clock, spans: list[Span]) -> st.SearchStrategy[int]:
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
