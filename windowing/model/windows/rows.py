"""Windows over row numbers: `RANGE 100 rows SLIDE 10 rows WATTR row_num ORDER event_time`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import ResolvedClauses
from windowing.model.windows.sliding import grid_extents
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import ROW_NUM, Align, Extent, Gaps, Spell

# By rank, a row that arrives later would renumber those after it, so none is shown early.
_TRAITS = {
    (order, cumulative): Traits(
        order=order, ends=Ends.ROWS, shows_early=order is Order.LANE, cumulative=cumulative
    )
    for order in (Order.LANE, Order.CANONICAL)
    for cumulative in (False, True)
}


@dataclass(frozen=True)
class RowWindow:
    """Windows over the numbers of rows, 0, 1, 2, …, within a unit.

    Attributes:
        range_: how many rows a window holds; None: all from the first row (LANDMARK).
        slide: rows between the ends of consecutive windows.
        pattr: attribute that partitions the stream before rows are numbered, or None.
        order: rows are numbered in `log` or `event_time` order.
        align: `start`: the first window is full; `end`: it ends after one slide.
    """

    range_: int | None
    slide: int
    pattr: str | None = None
    order: Literal["log", "event_time"] = "log"
    align: Align = "end"

    kind: ClassVar[str] = "tuple"
    attribute: ClassVar[str] = ROW_NUM
    origin: ClassVar[int] = 0
    gaps: ClassVar[Gaps] = ()
    active: ClassVar[Activity | None] = None

    @classmethod
    def of(cls, spelled: ResolvedClauses) -> Self | None:
        """Build the window from clauses; None: they are of another class."""
        if not spelled.over_rows:
            return None
        return cls(spelled.range_, spelled.slide, spelled.pattr, spelled.order, spelled.align)

    @property
    def traits(self) -> Traits:
        """The traits for code that handles all classes alike."""
        order = Order.LANE if self.order == "log" else Order.CANONICAL
        return _TRAITS[order, self.range_ is None]

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        return {
            "class": "rows",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
            "rows_by": self.order,
            "align": self.align,
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        if self.range_ is None:
            return f"landmark over {ROW_NUM}, slide {spell(self.slide)}"
        shape = "tumbling" if self.range_ == self.slide else "sliding"
        return f"{shape} over {ROW_NUM}, range {spell(self.range_)}, slide {spell(self.slide)}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents, in row numbers."""
        longest = count * self.slide
        range_ = longest if self.range_ is None else self.range_
        return grid_extents(range_, self.slide, self.align, count)
