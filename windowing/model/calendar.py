"""Calendars: spans of local time that follow one another, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from windowing.model.facts import Facts
from windowing.model.zones import Zone

CalendarUnit = Literal["day", "week", "month", "quarter", "year"]
Step = Literal["day", "month"]

UNITS: Final[tuple[CalendarUnit, ...]] = get_args(CalendarUnit)

DAY_US: Final = 86_400_000_000
# Of the Gregorian calendar: 400 years have 146,097 days and 4,800 months.
MEAN_MONTH_US: Final = 146_097 * DAY_US // 4_800
_STEPS: Final[dict[CalendarUnit, tuple[int, Step]]] = {
    "day": (1, "day"),
    "week": (7, "day"),
    "month": (1, "month"),
    "quarter": (3, "month"),
    "year": (12, "month"),
}


@dataclass(frozen=True)
class Calendar:
    """Spans of local time that follow one another: days, pairs of weeks, months.

    Each begins at a local time of day: an instant. Where the zone skips that time, it is the first
    instant after; where it comes twice, the first. A span is empty if the zone skips it whole.

    They are numbered from 1970: days from 1970-01-01, weeks from Monday 1970-01-05, months from
    January, quarters from the first, years from 1970.

    Attributes:
        count: how many units a span has; the first group of so many is number 0.
        origin_us: the local time of day at which spans begin.
    """

    unit: CalendarUnit
    count: int
    zone: Zone
    origin_us: int = 0

    @property
    def step(self) -> Step:
        """What spans consist of: whole days, or whole months."""
        return _STEPS[self.unit][1]

    @property
    def steps(self) -> int:
        """How many days or months a span has."""
        return _STEPS[self.unit][0] * self.count

    @property
    def mean_us(self) -> int:
        """The mean length of a span, in microseconds."""
        return self.steps * (DAY_US if self.step == "day" else MEAN_MONTH_US)

    def __str__(self) -> str:
        """Return the length of a span, and when it begins, if not at midnight."""
        length = f"{self.count} {self.unit}" + "s" * (self.count > 1)
        if not self.origin_us:
            return length
        minutes, rest = divmod(self.origin_us, 60_000_000)
        shown = f"{minutes // 60:02}:{minutes % 60:02}"
        return f"{length} from {shown}" + f":{rest / 1_000_000:09.6f}" * (rest > 0)

    def facts(self) -> Facts:
        """Return the facts for the fingerprint: of the zone only its name."""
        return {
            "unit": self.unit,
            "count": self.count,
            "zone": self.zone.name,
            "origin": self.origin_us,
        }
