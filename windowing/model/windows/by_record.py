"""Windows at records: `RANGE 5 minutes RATTR ts SLIDE 10 rows SATTR row_num`, or `rank(ts)`.

A record at position w defines the window (w - range, w].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import ResolvedClauses
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell, Window

_PER_RANGE = 4
"""Records per range in a picture."""


def example_step(range_: int) -> int:
    """Return the distance between records in a picture of windows at records."""
    return max(range_ // _PER_RANGE, 1)


class _AtRecords:
    """What windows at records have in common."""

    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    def facts(self: Window) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": self.kind,
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
        }

    def title(self: Window, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        ranked = " in the order of event time" if self.traits.order is Order.CANONICAL else ""
        rows = f"{self.slide} row" + "s" * (self.slide != 1)
        return f"slide by {rows}{ranked}, range {spell(self.range_ or 0)} over {self.attribute}"

    def first_extents(self: Window, count: int) -> list[Extent]:
        """Return the first extents over evenly spaced records."""
        range_ = self.range_ or 0
        ends = [self.slide * (number + 1) * example_step(range_) for number in range(count)]
        return [Extent(end, end - range_, end) for end in ends]


@dataclass(frozen=True)
class SlideByTuple(_AtRecords):
    """A window at every record.

    Attributes:
        range_: length of an extent, in the attribute's unit.
        attribute: the windowing attribute (RATTR).
        pattr: attribute that partitions the stream before windowing, or None.
    """

    range_: int
    attribute: str
    pattr: str | None = None

    kind: ClassVar[str] = "slide by tuple"
    traits: ClassVar[Traits] = Traits(order=Order.FREE, ends=Ends.AT_RECORDS, revisable=True)
    slide: ClassVar[int] = 1

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "row_num" or spelled.range_ is None or spelled.slide != 1:
            return None
        return cls(spelled.range_, spelled.attribute, spelled.pattr)


@dataclass(frozen=True)
class SlideByN(_AtRecords):
    """A window at every n-th record as it arrives.

    Attributes:
        range_: length of an extent, in the attribute's unit.
        slide: n.
        attribute: the windowing attribute (RATTR).
        pattr: attribute that partitions the stream before records are counted, or None.
    """

    range_: int
    slide: int
    attribute: str
    pattr: str | None = None

    kind: ClassVar[str] = "slide by n"
    traits: ClassVar[Traits] = Traits(order=Order.LANE, ends=Ends.AT_RECORDS, revisable=True)

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "row_num" or spelled.range_ is None or spelled.slide == 1:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.pattr)


@dataclass(frozen=True)
class SlideByRank(_AtRecords):
    """A window at every n-th record in the order of event time; attributes as of `SlideByN`."""

    range_: int
    slide: int
    attribute: str
    pattr: str | None = None

    kind: ClassVar[str] = "slide by rank"
    traits: ClassVar[Traits] = Traits(order=Order.CANONICAL, ends=Ends.AT_RECORDS)

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "rank" or spelled.range_ is None:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.pattr)
