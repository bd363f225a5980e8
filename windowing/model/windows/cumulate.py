"""Windows that grow slide by slide and begin anew: `RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts`.

With ZONE, the range is a day, week, month, quarter or year of local time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from windowing.model.calendar import DAY_US, Calendar, CalendarUnit
from windowing.model.errors import WindowError
from windowing.model.facts import Facts
from windowing.model.lengths import Length
from windowing.model.windows.activity import Activity
from windowing.model.windows.calendar import calendar_unit, time_of_day
from windowing.model.windows.language import AttributeType, Clauses, ResolvedClauses, amount
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell
from windowing.model.zones import Zone

_TRAITS: Final = Traits(
    order=Order.FREE,
    ends=Ends.SLIDES,
    per_key=True,
    revisable=True,
    shows_early=True,
    periodic=True,
)
_OF_LOCAL_TIME: Final = replace(_TRAITS, ends=Ends.NUMBERED)
_MOST_DAYS: Final[dict[CalendarUnit, int]] = {
    "day": 1,
    "week": 7,
    "month": 31,
    "quarter": 92,
    "year": 366,
}
_EXAMPLE: Final = "RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts ZONE Europe/Berlin"


@dataclass(frozen=True)
class Cumulate:
    """Windows that all begin with their period, each one slide longer than the one before.

    Period p begins at the origin and p times the range. Its windows end one, two, … slides after
    that, the last where the next period begins.

    Attributes:
        range_: length of a period, a multiple of the slide; of a calendar's, at most.
        slide: distance between the ends of consecutive windows; a calendar's last window of a
            period may be shorter.
        origin: the start of period 0; the smallest legal value of the attribute.
        pattr: attribute that partitions the stream before windowing, or None.
        calendar: the periods, if they are some of local time: one unit each.
    """

    range_: int
    slide: int
    attribute: str
    origin: int = 0
    pattr: str | None = None
    calendar: Calendar | None = None

    kind: ClassVar[str] = "cumulate"
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @property
    def traits(self) -> Traits:
        """The traits for code that handles all classes alike."""
        return _TRAITS if self.calendar is None else _OF_LOCAL_TIME

    @property
    def numbers(self) -> int:
        """How many numbers of windows a period has; of a calendar's, not all are of windows."""
        if self.calendar is None:
            return self.range_ // self.slide
        longest = self.range_ - DAY_US
        return -(-longest // self.slide) - (-DAY_US // self.slide)

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if not spelled.cumulate or spelled.range_ is None:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.origin, spelled.pattr)

    @classmethod
    def of_zone(cls, c: Clauses, zone: Zone, kind: AttributeType) -> Self:
        """Build the window from clauses with ZONE that keep to all rules without it.

        Args:
            kind: the type of the windowing attribute.

        Raises:
            WindowError: with the first code that applies.
        """
        if c.wattr is None or kind != "time":
            msg = f"ZONE goes with RANGE CUMULATE … SLIDE … WATTR over a time, as {_EXAMPLE}"
            raise WindowError("E_ZONE", msg)
        assert isinstance(c.range_, Length)  # noqa: S101 - as read
        assert c.slide is not None  # noqa: S101 - ensured by earlier rules
        unit = calendar_unit(c.range_)
        if unit is None or c.range_.number != 1:
            msg = (
                f"RANGE CUMULATE {c.range_.text}: with ZONE, a period is one day, week, month, "
                f"quarter or year of local time, as {_EXAMPLE}"
            )
            raise WindowError("E_UNIT", msg)
        if not c.slide.is_time:
            msg = f"SLIDE {c.slide.text}: within a period, windows end one length of time apart"
            raise WindowError("E_UNIT", f"{msg}: write hours or minutes, as {_EXAMPLE}")
        slide = amount("SLIDE", c.slide, kind, positive=True)
        calendar = Calendar(unit, 1, zone, time_of_day(c.origin))
        most = (_MOST_DAYS[unit] + 1) * DAY_US
        return cls(most, slide, c.wattr, pattr=c.pattr, calendar=calendar)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint; of a zone only its name."""
        return {
            "class": "cumulate",
            "range": self.range_ if self.calendar is None else self.calendar.facts(),
            "slide": self.slide,
            "over": self.attribute,
            "origin": self.origin,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        shape, slide = f"cumulating over {self.attribute}", spell(self.slide)
        if self.calendar is None:
            return f"{shape}, range {spell(self.range_)}, slide {slide}"
        zone = self.calendar.zone
        return f"{shape} by the calendar of {zone}, range {self.calendar}, slide {slide}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents, each from the start of its period; none of local time."""
        if self.calendar is not None:
            return []
        ends = [(wid, (wid + 1) * self.slide) for wid in range(count)]
        return [Extent(wid, wid // self.numbers * self.range_, end) for wid, end in ends]
