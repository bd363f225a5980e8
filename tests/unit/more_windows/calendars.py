"""Cases of local days, weeks, months, quarters and years, at changes of clocks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from tests.unit.more_windows.grids import Calendar, edge_at, instant, local, zone_named
from tests.unit.more_windows.plain_python import DAY, HOUR, MINUTE, Log, Rules, take
from tests.unit.reading.plain_python import Case

ZONES = {
    "Europe/Berlin": "2026-03-29 2026-10-25",
    "America/New_York": "2026-03-08 2026-11-01",
    # Half an hour.
    "Australia/Lord_Howe": "2026-04-05 2026-10-04",
    # The 30th never was.
    "Pacific/Apia": "2011-04-02 2011-09-24 2011-12-30",
    # From 00:00 to 01:00; and from 24:00 back to 23:00.
    "Africa/Cairo": "2026-04-24 2026-10-30",
    "Asia/Beirut": "2026-03-29 2026-10-25",
    "America/Sao_Paulo": "2018-02-18 2018-11-04",
    # From 00:00 to 01:00; and from 01:00 back to 00:00, which comes twice.
    "America/Havana": "2025-03-09 2025-11-02",
    "Atlantic/Azores": "2026-03-29 2026-10-25",
    # Two hours; and an hour back in spring.
    "Antarctica/Troll": "2026-03-29 2026-10-25",
    "Africa/Casablanca": "2026-02-15 2026-03-22",
    # Summer lies in winter.
    "Europe/Dublin": "1971-10-31 2026-03-29",
    # 45 minutes beside the hour.
    "Pacific/Chatham": "2026-04-05 2026-09-27",
}
"""Zones, and dates at which or near to which clocks change."""

HISTORY = {
    # An hour ahead when the numbers begin.
    "Europe/London": "1970-01-01 1971-10-31",
    # 44 minutes and 30 seconds behind; from 00:00 on 7 January 1972 none.
    "Africa/Monrovia": "1970-01-01 1972-01-07",
    # Summer for ever, then winter for ever.
    "Europe/Moscow": "2011-03-27 2014-10-26",
    "Europe/Istanbul": "2015-11-08 2016-09-07",
    "Asia/Pyongyang": "2015-08-15 2018-05-05",
    # At midnight, by fifteen and by thirty minutes.
    "Asia/Kathmandu": "1985-12-31 1986-01-01",
    "America/Caracas": "2007-12-09 2016-05-01",
    # The 21st never was.
    "Pacific/Kwajalein": "1993-08-20 1993-08-22",
    "Asia/Tehran": "2022-03-22 2022-09-22",
    # Rules go on for ever.
    "Europe/Berlin": "1970-01-01 2099-03-29 2400-10-29",
}

_PIPELINE = """
name: {name}
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{v: "int?"}}
  disorder: {{slack: {slack}}}
{more}queries:
{queries}
sink: {{table: {name}}}
"""


def pipeline(name: str, windows: Mapping[str, str], slack: str, more: str = "") -> str:
    queries = "\n".join(
        f"  {query}: {{window: {window}, aggregates: {{n: count, s: sum(v), last: last(v)}}}}"
        for query, window in windows.items()
    )
    return _PIPELINE.format(name=name, slack=slack, queries=queries, more=more)


def near_changes(log: Log, zones: Mapping[str, str], rng: random.Random, *units: str) -> None:
    """Append records at the edges before and after changes, and next to them."""
    for name, dates in zones.items():
        for text in dates.split():
            for one in (
                begin for unit in units for begin in _about(date.fromisoformat(text), unit)
            ):
                edge = edge_at(one, 0, zone_named(name))
                for ts in (edge - 1, edge, edge + rng.randrange(5 * HOUR)):
                    log.record("s/0", ts, len(log.seen) + 1)


def _about(day: date, unit: str) -> tuple[date, date]:
    """Return when the unit that holds a day begins, and when the next one does."""
    if unit == "day":
        return day, day + timedelta(days=1)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(weeks=1)
    first = day.replace(day=1, month=1 if unit == "year" else day.month)
    later = first + timedelta(days=366 if unit == "year" else 31)
    return first, later.replace(day=1)


def short(zone: str) -> str:
    return zone.rpartition("/")[2].lower()


def local_tumbling(unit: str, calendar: tuple[str, int, int]) -> Case:
    """Every zone as a query of one pipeline, and so every record in windows of each."""
    windows = {short(zone): f"RANGE 1 {unit} SLIDE 1 {unit} WATTR ts ZONE {zone}" for zone in ZONES}
    name = f"local_{unit}s"
    case = Case(
        name,
        f"Sums per {unit} on the clocks of thirteen places, in spring and in autumn.",
        pipeline(name, windows, "30000 days"),
        ["s/0"],
    )
    log = Log(case, 30_000 * DAY)
    near_changes(log, ZONES, random.Random(1), unit)
    within, length, base = calendar
    for zone in sorted(ZONES, key=short):
        take(case, short(zone), Calendar(zone_named(zone), within, length, length, base), log)
    case.end()
    return case


def days() -> Case:
    return local_tumbling("day", ("day", 1, 0))


def weeks() -> Case:
    return local_tumbling("week", ("day", 7, 4))


def months() -> Case:
    return local_tumbling("month", ("month", 1, 0))


def history() -> Case:
    """Zones whose rules changed, offsets with seconds, the first days that there are."""
    by_year = ("Europe/London", "Africa/Monrovia", "Europe/Moscow", "Europe/Berlin")
    queries = [(f"{short(zone)}_day", zone, "day") for zone in HISTORY]
    queries += [(f"{short(zone)}_year", zone, "year") for zone in by_year]
    windows = {
        query: f"RANGE 1 {unit} SLIDE 1 {unit} WATTR ts ZONE {zone}"
        for query, zone, unit in queries
    }
    case = Case(
        "local_history",
        "Days and years where the law about clocks changed, some of them without a day.",
        pipeline("local_history", windows, "200000 days"),
        ["s/0"],
    )
    log = Log(case, 200_000 * DAY)
    near_changes(log, HISTORY, random.Random(2), "day")
    first = {zone: HISTORY[zone].split()[0] for zone in by_year}
    near_changes(log, first, random.Random(3), "year")
    calendars = {"day": ("day", 1), "year": ("month", 12)}
    for query, zone, unit in sorted(queries):
        within, length = calendars[unit]
        take(case, query, Calendar(zone_named(zone), within, length, length), log)
    case.end()
    return case


def other_times_of_day() -> Case:
    """Days that begin at 06:00, at a time that is skipped and comes twice, and before 24:00."""
    zones = {zone: ZONES[zone] for zone in ("Europe/Berlin", "Asia/Beirut", "America/Havana")}
    zones["Australia/Lord_Howe"] = ZONES["Australia/Lord_Howe"]
    origins = {
        "six": ("6 hours", 6 * HOUR),
        "skipped": ("150 minutes", 150 * MINUTE),
        "twice": ("30 minutes", 30 * MINUTE),
        "late": ("1410 minutes", 1_410 * MINUTE),
    }
    windows = {
        f"{short(zone)}_{name}": f"RANGE 1 day SLIDE 1 day WATTR ts ZONE {zone} ORIGIN {origin}"
        for zone in zones
        for name, (origin, _) in origins.items()
    }
    windows["berlin_month"] = (
        "RANGE 1 month SLIDE 1 month WATTR ts ZONE Europe/Berlin ORIGIN 6 hours"
    )
    case = Case(
        "days_from_six",
        "A plant's day begins with the early shift, at six, in summer and in winter.",
        pipeline("days_from_six", windows, "30000 days"),
        ["s/0"],
    )
    log, rng = Log(case, 30_000 * DAY), random.Random(3)
    for name, dates in zones.items():
        for text in dates.split():
            for _, at in origins.values():
                edge = edge_at(date.fromisoformat(text), at, zone_named(name))
                for ts in (edge - 1, edge, edge + rng.randrange(24 * HOUR)):
                    log.record("s/0", ts, len(log.seen) + 1)
    log.record("s/0", edge_at(date(2026, 5, 1), 6 * HOUR, zone_named("Europe/Berlin")) - 1, 7)
    grids = {
        f"{short(zone)}_{name}": Calendar(zone_named(zone), "day", 1, 1, at=at)
        for zone in zones
        for name, (_, at) in origins.items()
    }
    grids["berlin_month"] = Calendar(zone_named("Europe/Berlin"), "month", 1, 1, at=6 * HOUR)
    for query in sorted(grids):
        take(case, query, grids[query], log)
    case.end()
    return case


def sliding() -> Case:
    """Windows of several slides, of a number of slides that is none, and with gaps."""
    spelled = {
        "last_seven_days": ("RANGE 7 days SLIDE 1 day", ("day", 7, 1, 0)),
        "last_week": ("RANGE 1 week SLIDE 1 day", ("day", 7, 1, 0)),
        "every_second_day": ("RANGE 2 days SLIDE 2 days", ("day", 2, 2, 0)),
        "two_weeks": ("RANGE 2 weeks SLIDE 1 week", ("day", 14, 7, 4)),
        "sundays": ("RANGE 1 day SLIDE 1 week", ("day", 1, 7, 4)),
        "last_quarter": ("RANGE 1 quarter SLIDE 1 month", ("month", 3, 1, 0)),
        "year_by_quarter": ("RANGE 1 year SLIDE 1 quarter", ("month", 12, 3, 0)),
    }
    zones = ("Europe/Berlin", "Pacific/Apia", "America/Havana")
    windows = {
        f"{short(zone)}_{name}": f"{text} WATTR ts ZONE {zone}"
        for zone in zones
        for name, (text, _) in spelled.items()
    }
    case = Case(
        "sliding_local_days",
        "The last seven days, each morning, whatever the clock did meanwhile.",
        pipeline("sliding_local_days", windows, "30000 days"),
        ["s/0"],
    )
    log = Log(case, 30_000 * DAY)
    near_changes(log, {zone: ZONES[zone] for zone in zones}, random.Random(4), "day")
    for ts in (-1, 0, 5 * HOUR, 3 * DAY, 4 * DAY + 11 * HOUR, 40 * DAY):
        log.record("s/0", ts, 1)
    for query, zone, (within, length, slide, base) in sorted(
        (f"{short(zone)}_{name}", zone, numbers)
        for zone in zones
        for name, (_, numbers) in spelled.items()
    ):
        take(case, query, Calendar(zone_named(zone), within, length, slide, base), log)
    case.end()
    return case


LATE = """late: {policy: update, every: 1 hour}
retention: 1 day
"""


def late() -> Case:
    """Late records over a day of 23 hours: which window is over, and for how long it can change."""
    windows = {
        "berlin": "RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlin",
        "utc": "RANGE 1 day SLIDE 1 day WATTR ts",
        "week": "RANGE 7 days SLIDE 1 day WATTR ts ZONE Europe/Berlin",
    }
    text = pipeline("late_local_days", windows, "10 minutes", LATE).replace(
        "partitions: 1", "partitions: 2"
    )
    case = Case(
        "late_local_days",
        "A device was out of reach over the night in which clocks changed.",
        text,
        ["s/0", "s/1"],
    )
    log, rng = Log(case, 10 * MINUTE), random.Random(5)
    berlin = zone_named("Europe/Berlin")
    clock = instant(datetime(2026, 3, 28, 12, tzinfo=UTC))
    for _ in range(90):
        clock += rng.randrange(60 * MINUTE)
        behind = rng.choice([0, 0, 0, MINUTE, HOUR, 13 * HOUR, 23 * HOUR, 24 * HOUR, 47 * HOUR])
        ts = clock - behind
        if rng.random() < 0.15:
            ts = edge_at(local(ts, berlin).date(), 0, berlin) - rng.randrange(2)
        log.record(rng.choice(case.lanes), ts, rng.randrange(100))
    rules = Rules("update", every=HOUR, retention=DAY)
    take(case, "berlin", Calendar(berlin, "day", 1, 1), log, rules)
    take(case, "utc", Calendar(zone_named("UTC"), "day", 1, 1), log, rules)
    take(case, "week", Calendar(berlin, "day", 7, 1), log, rules)
    case.end()
    return case
