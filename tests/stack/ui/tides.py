"""A small pipeline for the page: its file, its log, and what both say without any of our readers.

Two gauges report once a minute, the first until 02:59 and the second until 02:29. Some records come
twenty minutes late, some come after the retention, and some cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

NAME = "tides"
QUERY = "levels"
HOSTILE = "<script>document.body.textContent = 'taken over'</script>"

FILE = """
name: tides
source:
  topic: tides
  partitions: 2
  format: json
  event_time: {field: at, unit: us}
  fields: {harbour: string, level: int}
  disorder: {slack: 1 minute}
late: {policy: update, every: 1 minute}
retention: 1 hour
shards: 1
queries:
  levels:
    window: RANGE 10 minutes SLIDE 10 minutes WATTR at
    group_by: [harbour]
    aggregates: {n: count, highest: max(level)}
sink: {table: tides}
quality:
  - {query: levels, expect_window_set_to_match_definition: {}}
  - {query: levels, expect_column_values_to_be_in_set: {column: harbour, value_set: [Brest, Dover]}}
"""

MINUTE_US = 60_000_000
BEGIN_US = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
WINDOW_US = 10 * MINUTE_US

MINUTES = (180, 150)
"""How many minutes each gauge reports."""

SPLIT = 60
"""So many values of each lane are there when the job starts; the others come while it runs."""

# By hand: progress is the newest record less the slack, and the second lane's 02:28 is that of the
# stream. So the window from 02:20 is the oldest open one, and the newest is that of 02:59. What
# releases the oldest is a record a minute after its end, which is the slack. Dead are two values
# of each fiftieth minute of an hour, and the record that comes after the retention.
PROGRESS = ("2026-01-01 02:58", "2026-01-01 02:28")
LAGS = ("0 s", "30 min")
DEAD = ("7", "5")
OPEN = [
    QUERY,
    "4",
    "2026-01-01T02:20:00Z to 2026-01-01T02:30:00Z",
    "tides/1",
    "a record of 2026-01-01T02:31:00Z, or a bound of 2026-01-01T02:30:00Z, on tides/1",
]


FORGOTTEN = 900
"""The level of the record in each lane that comes after the retention."""


@dataclass(frozen=True)
class Sent:
    """One value on the log.

    Attributes:
        lane, offset: where.
        value: its bytes as text.
    """

    lane: int
    offset: int
    value: str

    @property
    def record(self) -> dict[str, Any] | None:
        """What it says; None: it cannot be read as a record."""
        try:
            found: dict[str, Any] = json.loads(self.value)
        except ValueError:
            return None
        return found if isinstance(found["level"], int) else None


def log() -> list[Sent]:
    """All values, in the order of each lane."""
    return [
        Sent(lane, offset, value)
        for lane, minutes in enumerate(MINUTES)
        for offset, value in enumerate(_values(minutes))
    ]


def _values(minutes: int) -> Iterator[str]:
    for minute in range(minutes):
        at, harbour = minute, ("Brest", "Dover")[minute % 2]
        yield _value(at, harbour, 100 + minute % 37)
        if minute % 20 == 19:
            yield _value(at - 17, harbour, 500)
        if minute % 60 == 50:
            yield _value(at, harbour, HOSTILE)
            yield "{broken"
        if minute == 140:
            yield _value(5, harbour, FORGOTTEN)


def _value(minute: int, harbour: str, level: int | str) -> str:
    return json.dumps({"at": BEGIN_US + minute * MINUTE_US, "harbour": harbour, "level": level})
