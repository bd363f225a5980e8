"""Traits of windows, for code that handles all classes alike.

Code that asks for a trait keeps working when a class is added; code that lists classes does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """The order of records that decides a window's content.

    Attributes:
        FREE: none: each record's value alone decides its windows.
        LANE: rows are counted in order of arrival, so a unit is in one lane.
        CANONICAL: rows are counted in order of event time over all lanes.
    """

    FREE = "free"
    LANE = "lane"
    CANONICAL = "canonical"


class Ends(Enum):
    """Where windows end.

    Attributes:
        SLIDES: one slide apart, along an attribute of the records.
        CALENDAR: at local times of day, some days or months apart.
        ROWS: one slide apart, in row numbers.
        AT_RECORDS: at positions of records, which are the windows' ids; inclusive.
        NUMBERED: along an attribute of the records, as the class computes from a window's number.
        DRAWN: decided by a key's records; the id gives no end, so each row carries its own.
    """

    SLIDES = "slides"
    CALENDAR = "calendar"
    ROWS = "rows"
    AT_RECORDS = "at records"
    NUMBERED = "numbered"
    DRAWN = "drawn"


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Properties of a window for code that is independent of its class.

    Attributes:
        order: which order of the records decides the content of windows.
        per_key: each key has its own windows, so that GROUP BY is equivalent to PATTR.
        revisable: late records may be shown by revisions (`update`).
        shows_early: open windows may be shown by provisional rows.
        cumulative: a window contains the previous one.
        periodic: a window contains the previous one of its period; the next period begins anew.
        merging: a late record may merge two windows.
    """

    order: Order
    ends: Ends
    per_key: bool = False
    revisable: bool = False
    shows_early: bool = False
    cumulative: bool = False
    periodic: bool = False
    merging: bool = False

    @property
    def on_grid(self) -> bool:
        """Whether ends are one slide apart, so that a window's number gives its extent."""
        return self.ends in (Ends.SLIDES, Ends.ROWS)

    @property
    def follow_on(self) -> bool:
        """Whether a window's number gives the next window, whatever the records."""
        return self.on_grid or self.ends in (Ends.CALENDAR, Ends.NUMBERED)

    @property
    def pictured(self) -> bool:
        """Whether the first extents are known without records."""
        return self.on_grid or self.at_records

    @property
    def at_records(self) -> bool:
        """Whether records define the windows."""
        return self.ends is Ends.AT_RECORDS

    @property
    def counts_arrivals(self) -> bool:
        """Whether records are counted on arrival in their lane."""
        return self.order is Order.LANE

    @property
    def shows_past_silence(self) -> bool:
        """Whether an open window may be shown without waiting for silent lanes."""
        return self.shows_early and self.order is Order.FREE
