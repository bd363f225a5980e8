"""Defects of windows of local time: where clocks change, and where they do not."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from chaos.planted_bugs.conditions import calendar, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.windows import ZONES
from chaos.simulator.draw.wish import Wish
from windowing.engine.calendar import Spans, _months
from windowing.engine.wids import Ints
from windowing.engine.windows.calendar import CalendarNumbering
from windowing.engine.zones import Transitions
from windowing.model.calendar import DAY_US
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.calendar import CalendarWindow

_WISH: Final = Wish(classes=("calendar",), same_class=True, number=False, types=0, computed=0)
_HOUR_US: Final = 3_600_000_000
_SKIP_MIDNIGHT: Final = ("America/Havana", "America/Montevideo", "Africa/Khartoum")
_SHOW_TWICE: Final = ("Australia/Hobart", "America/Santiago")
_EAST: Final = ("Australia/Hobart", "Asia/Hong_Kong", "Africa/Khartoum")


class of_zones:  # noqa: N801 - reads as conditions do
    """Whether a query's windows are of one of some zones."""

    def __init__(self, *names: str, units: tuple[str, ...] = ("day", "week")) -> None:
        self._names, self._units = names, units

    def __call__(self, _: Pipeline, query: Query) -> bool:
        slides = _window(query).slides
        return slides.zone.name in self._names and slides.unit in self._units


def _window(query: Query) -> CalendarWindow:
    """Return the windows of a query of which `calendar` holds."""
    return cast("CalendarWindow", query.window)


def from_an_hour(_: Pipeline, query: Query) -> bool:
    """Whether days do not begin at midnight."""
    return _window(query).slides.origin_us > 0


def from_midnight(_: Pipeline, query: Query) -> bool:
    return not _window(query).slides.origin_us


def planted_in_days(name: str, at: str, *asked: Any) -> Any:
    """Plant a defect in a method of what the engine numbers days by."""
    shows_in = some_query(calendar, *asked)
    return planted(name, "deterministic", at=at, shows_in=shows_in, wish=_WISH)


_BEGINS: Final = "windowing.engine.calendar:Spans._begins"
_STEPS: Final = "windowing.engine.calendar:Spans._steps"
_INSTANTS: Final = "windowing.engine.zones:Transitions.instant_of"
# What the engine does without a defect.
_true_steps, _instant_of, _bounds = Spans._steps, Transitions.instant_of, CalendarNumbering.bounds


def _local(spans: Spans, steps: Ints) -> Ints:
    """Return the local midnights of days, or of the first days of months."""
    unit = "M8[D]" if spans.calendar.step == "day" else "M8[M]"
    days: Ints = steps.astype(unit).astype("M8[D]").astype(np.int64)
    return days * DAY_US


# Edges that are an hour off on one side of a change of clocks. How one gets it: the offset of a
# local time is looked up as if it were UTC.
@planted_in_days("edge_by_the_offset_of_utc", _BEGINS, of_zones(*_EAST))
def by_the_offset_of_utc(spans: Spans, steps: Ints) -> Ints:
    local = _local(spans, steps) + spans.calendar.origin_us
    return local - spans._zone.offset_at(local)


# Days from a time of day that comes twice, which begin at the second. How one gets it: `fold=1`,
# or a table that is searched from its end.
@planted_in_days("second_of_two_edges", _INSTANTS, of_zones(*_SHOW_TWICE), from_an_hour)
def second_of_two(zone: Transitions, local: Ints) -> Ints:
    found = _instant_of(zone, local)
    later = local - zone.offset_at(found + 3 * _HOUR_US)
    again = (later > found) & (later + zone.offset_at(later) == local)
    return np.where(again, later, found)


# Days without a midnight, which begin at the last instant of the day before. How one gets it: the
# change of clocks is found by a search for the last instant with the old offset.
@planted_in_days("skipped_edge_begins_before", _INSTANTS, of_zones(*_SKIP_MIDNIGHT), from_midnight)
def before_the_change(zone: Transitions, local: Ints) -> Ints:
    found = _instant_of(zone, local)
    return found - (found + zone.offset_at(found) != local)


# Numbers that come again after clocks were turned back over an edge. How one gets it: the day of
# an instant is that of its local time.
@planted_in_days("day_comes_again", _STEPS, of_zones("Australia/Hobart"), from_an_hour)
def of_the_local_time(spans: Spans, instants: Ints) -> Ints:
    local = instants + spans._zone.offset_at(instants) - spans.calendar.origin_us
    return _steps_of(spans, local // DAY_US)


# A batch whose records are all placed by the offset of its first. How one gets it: the zone is
# asked once per batch, as its answer "does not change within one".
@planted_in_days("one_offset_for_a_batch", _STEPS, of_zones(*ZONES[:-1]))
def by_the_first_offset(spans: Spans, instants: Ints) -> Ints:
    ahead = spans._zone.offset_at(instants[:1])
    return _steps_of(spans, (instants + ahead - spans.calendar.origin_us) // DAY_US)


# Weeks from Sunday. How one gets it: `weekday()` and `isoweekday()` differ by one.
@planted_in_days(
    "weeks_from_sunday",
    "windowing.engine.calendar:Spans.phase",
    of_zones(*ZONES, units=("week",)),
)
@property
def sunday(spans: Spans) -> int:
    return 3 if spans.calendar.unit == "week" else 0


# Months of 30 days. How one gets it: a month is a length of time.
@planted_in_days(
    "months_of_30_days",
    "windowing.engine.calendar:_months",
    of_zones(*ZONES, units=("month", "quarter")),
)
def by_30_days(days: Ints) -> Ints:
    return days // 30


# Days from 02:00 that begin two hours after midnight, which is another time where clocks change
# between. How one gets it: the origin is added to the instant, not to the local time.
@planted_in_days("origin_after_midnight", _BEGINS, of_zones("Australia/Hobart"), from_an_hour)
def after_midnight(spans: Spans, steps: Ints) -> Ints:
    return spans._zone.instant_of(_local(spans, steps)) + spans.calendar.origin_us


# Windows that seem to begin whole days of 24 hours before their end. How one gets it: the start is
# the end less the range, as for sliding windows.
@planted_in_days(
    "starts_whole_days_before",
    "windowing.engine.windows.calendar:CalendarNumbering.bounds",
    of_zones(*ZONES[:-1]),
)
def whole_days_before(numbering: CalendarNumbering, wid: int) -> tuple[int, int]:
    _, end = _bounds(numbering, wid)
    return end - numbering.window.range_, end


# A record at an edge that counts in the day before. How one gets it: `<=` where days are looked up
# among their edges.
@planted_in_days("edge_in_the_day_before", _STEPS, of_zones(*ZONES))
def day_before(spans: Spans, instants: Ints) -> Ints:
    return _true_steps(spans, instants - (instants > -(2**62)))


def _steps_of(spans: Spans, days: Ints) -> Ints:
    return days if spans.calendar.step == "day" else _months(days)
