"""Windows that grow slide by slide and begin anew: `RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import ResolvedClauses
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell


@dataclass(frozen=True)
class Cumulate:
    """Windows that all begin with their period, each one slide longer than the one before.

    Period p begins at the origin and p times the range. Its windows end one, two, … slides after
    that, the last where the next period begins.

    Attributes:
        range_: length of a period, a multiple of the slide.
        slide: distance between the ends of consecutive windows.
        origin: the start of period 0; the smallest legal value of the attribute.
        pattr: attribute that partitions the stream before windowing, or None.
    """

    range_: int
    slide: int
    attribute: str
    origin: int = 0
    pattr: str | None = None

    kind: ClassVar[str] = "cumulate"
    traits: ClassVar[Traits] = Traits(
        order=Order.FREE,
        ends=Ends.SLIDES,
        per_key=True,
        revisable=True,
        shows_early=True,
        periodic=True,
    )
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if not spelled.cumulate or spelled.range_ is None:
            return None
        return cls(spelled.range_, spelled.slide, spelled.attribute, spelled.origin, spelled.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "cumulate",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "origin": self.origin,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        lengths = f"range {spell(self.range_)}, slide {spell(self.slide)}"
        return f"cumulating over {self.attribute}, {lengths}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents, each from the start of its period."""
        steps = self.range_ // self.slide
        return [
            Extent(wid, wid // steps * self.range_, (wid + 1) * self.slide) for wid in range(count)
        ]
