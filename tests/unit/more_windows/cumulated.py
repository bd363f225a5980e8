"""Cases of running totals, by fixed lengths and by local calendars."""

from __future__ import annotations

import random
from datetime import date

from tests.unit.more_windows.calendars import LATE, pipeline
from tests.unit.more_windows.grids import Calendar, Cumulate, LocalCumulate, edge_at, zone_named
from tests.unit.more_windows.plain_python import DAY, HOUR, MINUTE, SECOND, Grid, Log, Rules, take
from tests.unit.reading.plain_python import START, Case


def plain() -> Case:
    """Running totals that begin anew each day: all slides, an origin, the first periods."""
    spelled: dict[str, tuple[str, Grid]] = {
        "hourly": ("RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts", Cumulate(DAY, HOUR)),
        "one_step": ("RANGE CUMULATE 6 hours SLIDE 6 hours WATTR ts", Cumulate(6 * HOUR, 6 * HOUR)),
        "from_five": (
            "RANGE CUMULATE 1 day SLIDE 4 hours WATTR ts ORIGIN 5 hours",
            Cumulate(DAY, 4 * HOUR, 5 * HOUR),
        ),
        "sevenths": (
            "RANGE CUMULATE 7 seconds SLIDE 1 second WATTR ts",
            Cumulate(7 * SECOND, SECOND),
        ),
    }
    texts = {name: text for name, (text, _) in spelled.items()}
    case = Case(
        "running_totals",
        "Takings since midnight, every hour, from nothing each day.",
        pipeline("running_totals", texts, "9000 days"),
        ["s/0"],
    )
    log, rng = Log(case, 9_000 * DAY), random.Random(6)
    for ts in (0, 5 * HOUR - 1, 5 * HOUR, START, START + HOUR - 1, START + HOUR, START + DAY - 1):
        log.record("s/0", ts, len(log.seen))
    for _ in range(12):
        log.record("s/0", START + rng.randrange(3 * DAY), rng.choice([None, 1, 2, 3]))
    for query in sorted(spelled):
        take(case, query, spelled[query][1], log)
    case.end()
    return case


def late() -> Case:
    """A late record revises every later total of its day, and none of the next."""
    windows = {
        "quarters": "RANGE CUMULATE 1 hour SLIDE 15 minutes WATTR ts",
        "thirds": "RANGE CUMULATE 1 hour SLIDE 20 minutes WATTR ts",
    }
    text = pipeline("late_totals", windows, "5 minutes", LATE.replace("1 day", "40 minutes"))
    case = Case(
        "late_totals",
        "A payment is known late: the totals from its hour on change, tomorrow's do not.",
        text.replace("partitions: 1", "partitions: 2").replace("1 hour}", "10 minutes}"),
        ["s/0", "s/1"],
    )
    log, rng, clock = Log(case, 5 * MINUTE), random.Random(7), START
    for _ in range(120):
        clock += rng.randrange(5 * MINUTE)
        behind = rng.choice([0, 0, 0, 10, 20, 30, 61, 75, 100]) * MINUTE
        ts = clock - behind
        ts -= ts % (5 * MINUTE) if rng.random() < 0.3 else 0
        log.record(rng.choice(case.lanes), ts, rng.randrange(100))
    rules = Rules("update", every=10 * MINUTE, retention=40 * MINUTE)
    take(case, "quarters", Cumulate(HOUR, 15 * MINUTE), log, rules)
    take(case, "thirds", Cumulate(HOUR, 20 * MINUTE), log, rules)
    case.end()
    return case


def local() -> Case:
    """Days of 23, 25, 23½ and 24½ hours, and one that never was; weeks and months."""
    zones = {
        "Europe/Berlin": "2026-03-29 2026-10-25",
        "Australia/Lord_Howe": "2026-04-05 2026-10-04",
        "Asia/Beirut": "2026-03-29 2026-10-25",
        "Pacific/Apia": "2011-12-29 2011-12-31",
    }
    spelled: dict[str, tuple[str, Grid]] = {}
    for zone in zones:
        name, days = zone.rpartition("/")[2].lower(), Calendar(zone_named(zone), "day", 1, 1)
        spelled |= {
            f"{name}_3h": (
                f"RANGE CUMULATE 1 day SLIDE 3 hours WATTR ts ZONE {zone}",
                LocalCumulate(days, 1, 3 * HOUR),
            ),
            f"{name}_day": (
                f"RANGE CUMULATE 1 day SLIDE 24 hours WATTR ts ZONE {zone}",
                LocalCumulate(days, 1, DAY),
            ),
        }
    berlin = zone_named("Europe/Berlin")
    spelled |= {
        "from_six": (
            "RANGE CUMULATE 1 day SLIDE 150 minutes WATTR ts ZONE Europe/Berlin ORIGIN 6 hours",
            LocalCumulate(Calendar(berlin, "day", 1, 1, at=6 * HOUR), 1, 150 * MINUTE),
        ),
        "weeks": (
            "RANGE CUMULATE 1 week SLIDE 24 hours WATTR ts ZONE Europe/Berlin",
            LocalCumulate(Calendar(berlin, "day", 7, 7, 4), 7, DAY),
        ),
        "months": (
            "RANGE CUMULATE 1 month SLIDE 240 hours WATTR ts ZONE Europe/Berlin",
            LocalCumulate(Calendar(berlin, "month", 1, 1), 31, 10 * DAY),
        ),
    }
    texts = {name: text for name, (text, _) in spelled.items()}
    case = Case(
        "local_totals",
        "Totals since local midnight on the days on which clocks change.",
        pipeline("local_totals", texts, "9000 days"),
        ["s/0"],
    )
    log, rng = Log(case, 9_000 * DAY), random.Random(8)
    for zone, dates in zones.items():
        for text in dates.split():
            edge = edge_at(date.fromisoformat(text), 0, zone_named(zone))
            for ts in (edge, edge + rng.randrange(12 * HOUR), edge + 21 * HOUR + rng.randrange(2)):
                log.record("s/0", ts, len(log.seen) + 1)
    for query in sorted(spelled):
        take(case, query, spelled[query][1], log)
    case.end()
    return case
