"""Defects of zones: rules that are asked of the machine, where the file has its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chaos.planted_bugs.conditions import calendar as of_calendar
from chaos.planted_bugs.conditions import local_times, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.calendar import Spans, spans_of
from windowing.engine.reading import time_columns, times
from windowing.model.calendar import Calendar
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.zones import Zone, installed_zone

_WISH: Final = Wish(number=False, types=0, tables=1)


def _installed(zone: Zone) -> Zone:
    return installed_zone(zone.name)


def tables_of(pipeline: Pipeline, _: Query) -> bool:
    return bool(pipeline.zone_tables)


def local_by_tables(pipeline: Pipeline) -> bool:
    """Whether times are local ones of a zone whose table the file has."""
    return local_times(pipeline) and bool(pipeline.zone_tables)


# Days begin by the rules that are installed. How one gets it: the window keeps the name, and the
# table is looked up where it is needed.
@planted(
    "calendar_as_installed",
    "deterministic",
    at="windowing.engine.windows.calendar:spans_of",
    shows_in=some_query(of_calendar, tables_of),
    wish=replace(_WISH, classes=("calendar",), same_class=True, computed=0),
)
def of_the_machine(calendar: Calendar) -> Spans:
    return spans_of(replace(calendar, zone=_installed(calendar.zone)))


_HOURS: Final = time_columns._ahead_us
_ONE: Final = times.zoned_us


def hours_of_the_machine(hour: int, zone: Zone) -> int:
    return _HOURS(hour, _installed(zone))


# Of local times. How one gets it: the worker that reads them asks its own machine.
@planted(
    "local_time_as_installed",
    "deterministic, dead letters, conservation, no error, progress, exactly once",
    at="windowing.engine.reading.times:zoned_us",
    also={"windowing.engine.reading.time_columns:_ahead_us": hours_of_the_machine},
    shows_in=local_by_tables,
    wish=_WISH,
)
def one_of_the_machine(local_us: int, zone: Zone) -> int | None:
    return _ONE(local_us, _installed(zone))
