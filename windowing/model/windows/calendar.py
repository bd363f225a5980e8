"""Windows of local time: `RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlin`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Self

from windowing.model.calendar import DAY_US, UNITS, Calendar, CalendarUnit
from windowing.model.errors import WindowError
from windowing.model.facts import Facts
from windowing.model.lengths import Length
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import AttributeType, Clauses
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell
from windowing.model.zones import Zone

_PAIRS: Final = "RANGE and SLIDE both in days or weeks, or both in months, quarters or years"
_EXAMPLE: Final = "RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlin"


@dataclass(frozen=True)
class CalendarWindow:
    """Windows of so many days, or months, that end where a span of a calendar does.

    Window w ends with span w, and begins so many days or months before that; those of before span 0
    do not exist, and starts before it are clipped.

    Attributes:
        slides: the spans whose ends are the windows'.
        range_text: the length of an extent, as written.
        length: the same, in days or months.
        pattr: attribute that partitions the stream before windowing, or None.
        active: which of these windows there are; None: all.
    """

    slides: Calendar
    range_text: str
    length: int
    attribute: str
    pattr: str | None = None
    active: Activity | None = None

    kind: ClassVar[str] = "calendar"
    traits: ClassVar[Traits] = Traits(
        order=Order.FREE, ends=Ends.CALENDAR, per_key=True, revisable=True, shows_early=True
    )
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()

    @property
    def range_(self) -> int:
        """The mean length of an extent, in microseconds."""
        return self.slides.mean_us // self.slides.steps * self.length

    @property
    def slide(self) -> int:
        """The mean distance between the ends of consecutive windows, in microseconds."""
        return self.slides.mean_us

    @classmethod
    def of_zone(cls, c: Clauses, zone: Zone, kind: AttributeType) -> Self:
        """Build the window from clauses with ZONE that keep to all rules without it.

        Args:
            kind: the type of the windowing attribute.

        Raises:
            WindowError: with the first code that applies.
        """
        if c.wattr is None or kind != "time" or c.range_ == "LANDMARK" or c.cumulate:
            msg = f"ZONE goes with RANGE … SLIDE … WATTR over a time, as {_EXAMPLE}"
            raise WindowError("E_ZONE", msg)
        if c.align is not None:
            raise WindowError("E_ORIGIN", "ALIGN goes without ZONE: windows end at local midnights")
        (range_, length), (slide, count) = _whole("RANGE", c.range_), _whole("SLIDE", c.slide)
        slides = Calendar(slide, count, zone, time_of_day(c.origin))
        extent = Calendar(range_, length, zone)
        if slides.step != extent.step:
            msg = f"{_written(c)}: the lengths of months in days differ: write {_PAIRS}"
            raise WindowError("E_UNIT", msg)
        assert isinstance(c.range_, Length)  # noqa: S101 - as `_whole` has checked
        return cls(slides, c.range_.text, extent.steps, c.wattr, c.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint; of the zone only its name."""
        return {
            "class": "calendar",
            "range": self.length,
            "slide": self.slides.facts(),
            "over": self.attribute,
            "of_each": self.pattr,
            "active": None if self.active is None else self.active.facts(),
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        del spell
        shape = "tumbling" if self.length == self.slides.steps else "sliding"
        lengths = f"range {self.range_text}, slide {self.slides}"
        return f"{shape} over {self.attribute} by the calendar of {self.slides.zone}, {lengths}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return none: a picture to scale would show no edge of local time."""
        return []


def time_of_day(origin: Length | None) -> int:
    """Return the local time of day that ORIGIN gives, in microseconds.

    Raises:
        WindowError: E_ORIGIN: it is none.
    """
    if origin is None:
        return 0
    exact = origin.scaled()
    if not origin.is_time or exact.denominator != 1 or not 0 <= exact < DAY_US:
        msg = f"ORIGIN {origin.text}: with ZONE, days begin at a local time of day: write it as a "
        msg += "length of time from 0 hours to below 24 hours, as ORIGIN 6 hours for 06:00"
        raise WindowError("E_ORIGIN", msg)
    return int(exact)


def calendar_unit(length: Length) -> CalendarUnit | None:
    """Return the unit of the calendar that a length is written in; None: it is another unit."""
    written = "day" if length.unit == "d" else length.unit
    return next((unit for unit in UNITS if unit == written), None)


def _whole(clause: str, length: Length | Literal["LANDMARK"] | None) -> tuple[CalendarUnit, int]:
    assert isinstance(length, Length)  # noqa: S101 - ensured by earlier rules
    unit = calendar_unit(length)
    if unit is None:
        msg = f"{clause} {length.text}: with ZONE, a window is some local time long: write {_PAIRS}"
        raise WindowError("E_UNIT", f"{msg}; without ZONE a day is 24 hours")
    if length.number.denominator != 1 or length.number <= 0:
        msg = f"{clause} {length.text}: must be positive, and a whole number of {unit}s"
        raise WindowError("E_VALUE", msg)
    return unit, int(length.number)


def _written(c: Clauses) -> str:
    texts = (length.text for length in (c.range_, c.slide) if isinstance(length, Length))
    return "RANGE {} SLIDE {}".format(*texts)
