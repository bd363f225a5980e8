"""The base of every window: a frozen record of clauses with its traits and pictures.

Source: as of `windowing.model.windows.language`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from windowing.model.facts import Facts
from windowing.model.windows.traits import Traits

ROW_NUM = "row_num"

Align = Literal["end", "start"]
Gaps = tuple[tuple[int | str, int], ...]

Spell = Callable[[int], str]
"""How a length of the windowing attribute is written."""


@dataclass(frozen=True)
class Extent:
    """What one window spans, from the origin on, in the unit of the windowing attribute.

    Attributes:
        wid: number of the window; where windows lie at records, the position of its record.
        start, end: half-open `[start, end)`; where windows lie at records, `(start, end]`.
    """

    wid: int
    start: int
    end: int


@runtime_checkable
class Window(Protocol):
    """A window as data: `RANGE r SLIDE s WATTR a …`, with every length in the attribute's own unit.

    Each class has the clauses that mean something for it; of the others it has the neutral value.
    """

    @property
    def kind(self) -> str:
        """The class, in words: the name by which each room has registered it."""

    @property
    def traits(self) -> Traits:
        """What code that handles every class alike may ask."""

    @property
    def attribute(self) -> str:
        """The windowing attribute (WATTR or RATTR); `row_num` for windows over rows."""

    @property
    def pattr(self) -> str | None:
        """The attribute whose values split the stream before windows are made, or None."""

    @property
    def range_(self) -> int | None:
        """The length of an extent; of sessions the distance of two records that parts them."""

    @property
    def slide(self) -> int:
        """The distance of two windows' ends, or the number of rows between two windows."""

    @property
    def origin(self) -> int:
        """Where window 0 begins to count."""

    @property
    def align(self) -> Align:
        """Whether ends (clipped at the origin) or starts lie whole slides from the origin."""

    @property
    def gaps(self) -> Gaps:
        """Of sessions the distances of single keys that have another one."""

    def facts(self) -> Facts:
        """Give the facts by which fingerprints know the window; their names are a format."""

    def title(self, spell: Spell) -> str:
        """Say the class and the lengths, as people do."""

    def first_extents(self, count: int) -> list[Extent]:
        """Give the first extents for a picture; none of windows that only records draw."""
