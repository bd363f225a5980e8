"""Landmark windows: `RANGE LANDMARK SLIDE 1 day WATTR ts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from windowing.model.facts import Facts
from windowing.model.windows.language import Spelled
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell


@dataclass(frozen=True)
class Landmark:
    """Windows that all begin at the origin, each a slide longer than the one before.

    Attributes:
        slide: distance of two windows' ends, in the attribute's unit.
        attribute: the windowing attribute.
        origin: where all windows begin; the smallest legal value of the attribute.
        pattr: attribute whose values split the stream before windows are made, or None.
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

    @classmethod
    def of(cls, spelled: Spelled) -> Self | None:
        """Make the window that clauses spell; None: they spell one of another class."""
        if spelled.range_ is not None or spelled.over_rows:
            return None
        return cls(spelled.slide, spelled.attribute, spelled.origin, spelled.pattr)

    def facts(self) -> Facts:
        """Give the facts by which fingerprints know the window."""
        return {
            "class": "landmark",
            "slide": self.slide,
            "over": self.attribute,
            "origin": self.origin,
            "of_each": self.pattr,
        }

    def title(self, spell: Spell) -> str:
        """Say the class and the lengths, as people do."""
        return f"landmark over {self.attribute}, slide {spell(self.slide)}"

    def first_extents(self, count: int) -> list[Extent]:
        """Give the first extents, each from the origin on."""
        return [Extent(wid, 0, (wid + 1) * self.slide) for wid in range(count)]
