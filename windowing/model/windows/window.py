"""The base of every window: frozen clauses, with their traits and first extents.

Source: as for `windowing.model.windows.language`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.traits import Traits

ROW_NUM = "row_num"

Align = Literal["end", "start"]
Gaps = tuple[tuple[int | str, int], ...]

Spell = Callable[[int], str]
"""A function that formats a length of the windowing attribute."""


@dataclass(frozen=True)
class Extent:
    """The span of one window, from the origin, in the unit of the windowing attribute.

    Attributes:
        wid: number of the window; for windows at records, the position of its record.
        start, end: half-open `[start, end)`; for windows at records, `(start, end]`.
    """

    wid: int
    start: int
    end: int


@runtime_checkable
class Window(Protocol):
    """A window as data: `RANGE r SLIDE s WATTR a …`, with every length in the attribute's own unit.

    Each class has the clauses that apply to it, and neutral values for the others.
    """

    @property
    def kind(self) -> str:
        """The name of the class, by which each package registers its part."""

    @property
    def traits(self) -> Traits:
        """The traits for code that handles all classes alike."""

    @property
    def attribute(self) -> str:
        """The windowing attribute (WATTR or RATTR); `row_num` for windows over rows."""

    @property
    def pattr(self) -> str | None:
        """The attribute that partitions the stream before windowing, or None."""

    @property
    def range_(self) -> int | None:
        """The length of an extent; of sessions, the gap."""

    @property
    def slide(self) -> int:
        """The distance between the ends of consecutive windows, or the rows between two."""

    @property
    def origin(self) -> int:
        """The start of window 0."""

    @property
    def align(self) -> Align:
        """`end`: ends lie whole slides from the origin, clipped there; `start`: starts do."""

    @property
    def gaps(self) -> Gaps:
        """Gaps of single keys that differ from `range_`; for sessions."""

    @property
    def active(self) -> Activity | None:
        """Which of these windows there are, if the query joins the stream or leaves it."""

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint; their names are a format."""

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""

    def first_extents(self, count: int) -> list[Extent]:
        """Return the first extents for a picture; none if only records decide them."""
