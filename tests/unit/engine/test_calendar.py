"""Spans of local time: columns of them against the definition, whose clock is Python's."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windowing.engine.calendar import spans_of
from windowing.engine.zones import transitions
from windowing.model.calendar import UNITS, Calendar, CalendarUnit
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.zones import installed_zone
from windowing.semantics.calendar import begin, number_of

HOUR, US = 3_600_000_000, 1_000_000
# Midnights that are skipped or come twice, a day left out, half an hour, seconds, no change.
ZONES = [
    *("Europe/Berlin", "Africa/Cairo", "Asia/Beirut", "America/Sao_Paulo", "America/Havana"),
    *("Atlantic/Azores", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Monrovia", "UTC"),
]


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    origin = draw(st.sampled_from([0, 0, 1, HOUR // 2, 6 * HOUR, 24 * HOUR - 1]))
    zone = installed_zone(draw(st.sampled_from(ZONES)))
    return Calendar(draw(st.sampled_from(UNITS)), draw(st.sampled_from([1, 1, 2, 5])), zone, origin)


@st.composite
def instants(draw: st.DrawFn, calendar: Calendar) -> list[int]:
    """Draw instants beside changes of clocks, and anywhere."""
    starts = transitions(calendar.zone).starts.tolist() or [0]
    beside = st.builds(
        lambda change, by: change + by,
        st.sampled_from([start for start in starts if start < 2**51] or [0]),
        st.integers(-26 * 60, 26 * 60).map(lambda minutes: minutes * 60 * US),
    )
    anywhere = st.integers(-(2**59), 2**59)
    return draw(st.lists(beside | anywhere, min_size=1, max_size=12))


@settings(max_examples=60)
@given(st.data())
def test_numbers_and_begins(data: st.DataObject) -> None:
    calendar = data.draw(calendars())
    drawn = np.array(data.draw(instants(calendar)))
    spans = spans_of(calendar)
    numbers = spans.numbers(drawn)
    assert numbers.tolist() == [number_of(calendar, us) for us in drawn.tolist()]
    edges = spans.begins(numbers)
    assert edges.tolist() == [begin(calendar, number) for number in numbers.tolist()]
    # A span holds the instants from its edge to before the next one's.
    assert (edges <= drawn).all()
    assert (spans.begins(numbers + 1) > drawn).all()
    for by in (-1, 0, 1):
        wanted = [number_of(calendar, us) for us in (edges + by).tolist()]
        assert spans.numbers(edges + by).tolist() == wanted


@pytest.mark.parametrize(
    ("unit", "number", "local"),
    [
        ("day", 0, "1970-01-01"),
        ("day", 365, "1971-01-01"),
        ("week", 0, "1970-01-05"),
        ("week", -1, "1969-12-29"),
        ("month", 25, "1972-02-01"),
        ("quarter", 5, "1971-04-01"),
        ("year", 54, "2024-01-01"),
    ],
)
def test_spans_are_numbered_from_1970(unit: CalendarUnit, number: int, local: str) -> None:
    calendar = Calendar(unit, 1, installed_zone("Europe/Berlin"))
    us = (
        int(datetime.fromisoformat(local).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp())
        * US
    )
    assert spans_of(calendar).begins(np.array([number])).tolist() == [us]
    assert begin(calendar, number) == us


@pytest.mark.parametrize(
    ("zone", "day", "edge"),
    [
        # Clocks went from 0:00 to 1:00, and from 0:00 back to 23:00: a midnight twice.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00"),
        ("America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00"),
        # Clocks went from 1:00 back to 0:00: the first of both.
        ("America/Havana", "2023-11-05", "2023-11-05T04:00"),
        # There was no 30th of December.
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00"),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00"),
    ],
)
def test_midnights_that_are_skipped_or_come_twice(zone: str, day: str, edge: str) -> None:
    calendar = Calendar("day", 1, installed_zone(zone))
    number = int(np.datetime64(day, "D").astype(np.int64))
    us = int(np.datetime64(edge, "us").astype(np.int64))
    assert spans_of(calendar).begins(np.array([number])).tolist() == [us]
    assert begin(calendar, number) == us


@pytest.mark.parametrize("unit", UNITS)
def test_no_instant_is_too_far_out(unit: CalendarUnit) -> None:
    spans = spans_of(Calendar(unit, 1, installed_zone("Europe/Berlin"), 6 * HOUR))
    far = np.array([INT64_MIN, INT64_MIN + 1, -(2**62), 2**62, INT64_MAX - 1, INT64_MAX])
    numbers = spans.numbers(far)
    assert (np.diff(numbers) >= 0).all()
    assert (spans.begins(numbers[2:4]) <= far[2:4]).all()
    assert spans.begins(far)[[0, -1]].tolist() == [INT64_MIN, INT64_MAX]
