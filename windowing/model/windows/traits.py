"""Traits of windows: what code that handles all classes of windows alike needs to know.

Code that asks for a trait keeps working when a class is added; code that lists classes does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """Which order of the records decides what a window holds.

    Attributes:
        FREE: none: each record finds its windows by its own value.
        LANE: the order of arrival, in which rows are counted; so a unit lies in one lane.
        CANONICAL: that of event time over all lanes, in which rows are counted.
    """

    FREE = "free"
    LANE = "lane"
    CANONICAL = "canonical"


class Ends(Enum):
    """Where windows end.

    Attributes:
        SLIDES: one slide apart, along an attribute of the records.
        ROWS: one slide apart, in row numbers.
        AT_RECORDS: at positions of records, which are the windows' ids; they close right behind.
        NUMBERED: along an attribute of the records, wherever the class says by a window's number.
        DRAWN: where a key's records say; the id gives no end, so each row brings its own.
    """

    SLIDES = "slides"
    ROWS = "rows"
    AT_RECORDS = "at records"
    NUMBERED = "numbered"
    DRAWN = "drawn"


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What is asked of a window by code that does not care for its class.

    Attributes:
        order: which order of the records decides what windows hold.
        ends: where windows end.
        per_key: each key has windows of its own, so that GROUP BY means what PATTR does.
        revisable: late records may be shown by revisions (`update`).
        shows_early: open windows may be shown by provisional rows.
        cumulative: a window holds all that the one before it held.
        merging: a late record may make two windows one.
    """

    order: Order
    ends: Ends
    per_key: bool = False
    revisable: bool = False
    shows_early: bool = False
    cumulative: bool = False
    merging: bool = False

    @property
    def on_grid(self) -> bool:
        """Whether ends lie one slide apart, so that a window's number gives its extent."""
        return self.ends in (Ends.SLIDES, Ends.ROWS)

    @property
    def pictured(self) -> bool:
        """Whether the first extents can be drawn before there is a record."""
        return self.on_grid or self.at_records

    @property
    def at_records(self) -> bool:
        """Whether records define which windows there are."""
        return self.ends is Ends.AT_RECORDS

    @property
    def counts_arrivals(self) -> bool:
        """Whether records are counted as they arrive in their lane."""
        return self.order is Order.LANE

    @property
    def shows_past_silence(self) -> bool:
        """Whether an open window may be shown without what silent lanes may still say."""
        return self.shows_early and self.order is Order.FREE
