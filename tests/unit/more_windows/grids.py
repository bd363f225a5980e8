"""Windows by their edges: lengths of time, local calendars, running totals.

A local edge is a date and a time of day on the clocks of a zone, and Python's datetime says by its
`fold` what such a time means where clocks change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from tests.unit.more_windows.plain_python import DAY, HOUR, Window

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


@cache
def zone_named(name: str) -> ZoneInfo:
    """The zone as PyPI's tzdata has it, whatever the machine has."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def instant(moment: datetime) -> int:
    return (moment - EPOCH) // _US


def local(ts: int, zone: ZoneInfo) -> datetime:
    return (EPOCH + ts * _US).astimezone(zone)


@cache
def edge_at(day: date, at: int, zone: ZoneInfo) -> int:
    """Return the first instant at which clocks show a time of a day, or more.

    Args:
        at: µs since the day's midnight.
    """
    shown = datetime.combine(day, time()) + at * _US
    first, second = (shown.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    before, after = first.utcoffset(), second.utcoffset()
    assert before is not None
    assert after is not None
    if before >= after:
        # It comes once, or is the first of two.
        return instant(first.astimezone(UTC))
    # Clocks skip it: the change lies between the two readings, and at its instant they show more.
    low, high = instant(second.astimezone(UTC)), instant(first.astimezone(UTC))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if local(middle, zone).utcoffset() == after else (middle, high)
    return high


@dataclass(frozen=True)
class Calendar:
    """`RANGE … SLIDE … ZONE`.

    Attributes:
        unit: what lengths are multiples of: `day` or `month`.
        length, slide: in units.
        base: the unit, since 1970, with which the first slide begins: 4 for weeks.
        at: the time of day of edges, in µs.
    """

    zone: ZoneInfo
    unit: str
    length: int
    slide: int
    base: int = 0
    at: int = 0

    def edge(self, unit: int) -> int:
        """Return the instant at which a unit begins."""
        unit += self.base
        if self.unit == "day":
            return edge_at(date(1970, 1, 1) + timedelta(days=unit), self.at, self.zone)
        return edge_at(date(1970 + unit // 12, unit % 12 + 1, 1), self.at, self.zone)

    def numbered(self, number: int) -> Window:
        last = (number + 1) * self.slide
        return Window(number, self.edge(max(0, last - self.length)), self.edge(last))

    def near(self, ts: int) -> list[Window]:
        """Return the windows that end at about this day, or up to a length later."""
        day = local(ts, self.zone)
        units = (day.date() - date(1970, 1, 1)).days
        units = units if self.unit == "day" else (day.year - 1970) * 12 + day.month - 1
        first = (units - self.base) // self.slide - 3
        last = first + 6 + self.length // self.slide
        return [self.numbered(number) for number in range(max(0, first), last + 1)]

    def holding(self, ts: int) -> list[Window]:
        return [window for window in self.near(ts) if window.start <= ts < window.end]

    def under_way(self, ts: int) -> int:
        later = [window.number for window in self.near(ts) if window.end > ts]
        return min(later, default=-1) if ts >= self.edge(0) else -1

    def following(self, window: Window) -> Window:
        return self.numbered(window.number + 1)


@dataclass(frozen=True)
class Sliding:
    """`RANGE … SLIDE …` without a zone."""

    length: int
    slide: int
    origin: int = 0

    def numbered(self, number: int) -> Window:
        end = self.origin + (number + 1) * self.slide
        return Window(number, max(self.origin, end - self.length), end)

    def under_way(self, ts: int) -> int:
        return (ts - self.origin) // self.slide

    def holding(self, ts: int) -> list[Window]:
        first = self.under_way(ts)
        near = range(max(0, first), first + self.length // self.slide + 2)
        windows = map(self.numbered, near)
        return [window for window in windows if window.start <= ts < window.end]

    def following(self, window: Window) -> Window:
        return self.numbered(window.number + 1)


@dataclass(frozen=True)
class Cumulate:
    """`RANGE CUMULATE … SLIDE …` without a zone."""

    length: int
    slide: int
    origin: int = 0

    def holding(self, ts: int) -> list[Window]:
        period, steps = (ts - self.origin) // self.length, self.length // self.slide
        start = self.origin + period * self.length
        windows = [
            Window(period * steps + k - 1, start, start + k * self.slide)
            for k in range(1, steps + 1)
        ]
        return [window for window in windows if ts < window.end] if period >= 0 else []

    def under_way(self, ts: int) -> int:
        return min((window.number for window in self.holding(ts)), default=-1)

    def following(self, window: Window) -> Window:
        steps = self.length // self.slide
        period, k = divmod(window.number + 1, steps)
        start = self.origin + period * self.length
        return Window(window.number + 1, start, start + (k + 1) * self.slide)


@dataclass(frozen=True)
class LocalCumulate:
    """`RANGE CUMULATE 1 day SLIDE … ZONE`.

    Attributes:
        periods: the tumbling windows of the unit.
        days: the most days that the unit has.
    """

    periods: Calendar
    days: int
    slide: int

    @property
    def steps(self) -> int:
        """The numbers of a period: the most steps of the unit, and a day's worth."""
        return -(-self.days * 24 * HOUR // self.slide) + -(-DAY // self.slide)

    def of(self, period: Window) -> list[Window]:
        """Return the windows of a period: as many as begin before its end."""
        windows, k = list[Window](), 1
        while period.start + (k - 1) * self.slide < period.end:
            end = min(period.start + k * self.slide, period.end)
            windows.append(Window(period.number * self.steps + k - 1, period.start, end))
            k += 1
        return windows

    def holding(self, ts: int) -> list[Window]:
        windows = [window for period in self.periods.holding(ts) for window in self.of(period)]
        return [window for window in windows if ts < window.end]

    def under_way(self, ts: int) -> int:
        return min((window.number for window in self.holding(ts)), default=-1)

    def following(self, window: Window) -> Window:
        period = self.periods.numbered(window.number // self.steps)
        for later in self.of(period):
            if later.number > window.number:
                return later
        while not self.of(period := self.periods.following(period)):
            """Of a day that the calendar leaves out there are none."""
        return self.of(period)[0]
