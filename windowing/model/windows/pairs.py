"""The counterpart of a window in the rows of a join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windowing.model.facts import Facts
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import Align, Extent, Gaps, Spell


@dataclass(frozen=True)
class Pairs:
    """The span from the earlier to the later record of a pair.

    Attributes:
        attribute: the event time of the left stream.
    """

    attribute: str

    kind: ClassVar[str] = "join"
    traits: ClassVar[Traits] = Traits(order=Order.FREE, ends=Ends.DRAWN, revisable=True)
    pattr: ClassVar[str | None] = None
    range_: ClassVar[int | None] = None
    slide: ClassVar[int] = 1
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    gaps: ClassVar[Gaps] = ()

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "join",
            "over": self.attribute,
        }

    def title(self, spell: Spell) -> str:
        """Return a general title; the join describes what matches."""
        return f"pairs over {self.attribute}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return none: the records decide where pairs lie."""
        return []
