"""Landmark windows: `RANGE LANDMARK SLIDE 1 day WATTR ts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import ResolvedClauses
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell


@dataclass(frozen=True)
class Landmark:
    """Windows from the origin, each one slide longer than the previous.

    Attributes:
        slide: distance between the ends of consecutive windows, in the attribute's unit.
        origin: where all windows begin; the smallest legal value of the attribute.
        pattr: attribute that partitions the stream before windowing, or None.
    """

    slide: int
    attribute: str
    origin: int = 0
    pattr: str | None = None

    kind: ClassVar[str] = "landmark"
    traits: ClassVar[Traits] = Traits(
        order=Order.FREE,
        ends=Ends.SLIDES,
        per_key=True,
        revisable=True,
        shows_early=True,
        cumulative=True,
    )
    range_: ClassVar[int | None] = None
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if spelled.range_ is not None or spelled.over_rows:
            return None
        return cls(spelled.slide, spelled.attribute, spelled.origin, spelled.pattr)

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "landmark",
            "slide": self.slide,
            "over": self.attribute,
            "origin": self.origin,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        return f"landmark over {self.attribute}, slide {spell(self.slide)}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents, all from the origin."""
        return [Extent(wid, 0, (wid + 1) * self.slide) for wid in range(count)]
