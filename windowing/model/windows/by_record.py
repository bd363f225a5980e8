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
from windowing.model.windows.window import Align, Extent, Gaps, Spell

_PER_RANGE = 4
"""Records per range in a picture."""


def example_step(range_: int) -> int:
    """Return the distance between records in a picture of windows at records."""
    return max(range_ // _PER_RANGE, 1)


@dataclass(frozen=True)
class SlideByTuple:
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
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "row_num" or spelled.range_ is None or spelled.slide != 1:
            return None
        return cls(spelled.range_, spelled.attribute, spelled.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "slide by tuple",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        return f"slide by 1 row, range {spell(self.range_)} over {self.attribute}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents over evenly spaced records."""
        return _extents(self.range_, 1, count)


@dataclass(frozen=True)
class SlideByN:
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
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "row_num" or spelled.range_ is None or spelled.slide == 1:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "slide by n",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        return f"slide by {_rows(self.slide)}, range {spell(self.range_)} over {self.attribute}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents over evenly spaced records."""
        return _extents(self.range_, self.slide, count)


@dataclass(frozen=True)
class SlideByRank:
    """A window at every n-th record in the order of event time.

    Attributes:
        range_: length of an extent, in the attribute's unit.
        slide: n.
        attribute: the windowing attribute (RATTR), which gives the rank.
        pattr: attribute that partitions the stream before records are counted, or None.
    """

    range_: int
    slide: int
    attribute: str
    pattr: str | None = None

    kind: ClassVar[str] = "slide by rank"
    traits: ClassVar[Traits] = Traits(order=Order.CANONICAL, ends=Ends.AT_RECORDS)
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.at_records != "rank" or spelled.range_ is None:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "slide by rank",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        by = f"slide by {_rows(self.slide)} in the order of event time"
        return f"{by}, range {spell(self.range_)} over {self.attribute}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents over evenly spaced records."""
        return _extents(self.range_, self.slide, count)


def _rows(count: int) -> str:
    return f"{count} row" + "s" * (count != 1)


def _extents(range_: int, every: int, count: int) -> list[Extent]:
    ends = [every * (number + 1) * example_step(range_) for number in range(count)]
    return [Extent(end, end - range_, end) for end in ends]
