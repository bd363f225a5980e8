"""Sessions: `SESSION 30 minutes WATTR ts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from windowing.model.errors import WindowError
from windowing.model.facts import Facts
from windowing.model.windows.activity import Activity
from windowing.model.windows.language import AttributeType, Clauses, amount
from windowing.model.windows.traits import Ends, Order, Traits
from windowing.model.windows.window import ROW_NUM, Align, Extent, Gaps, Spell

_IN_TIME = Traits(
    order=Order.FREE,
    ends=Ends.DRAWN,
    per_key=True,
    revisable=True,
    shows_early=True,
    merging=True,
)
# Rows of all keys are counted, and no row is late.
_OF_ROWS = Traits(order=Order.LANE, ends=Ends.DRAWN, shows_early=True, merging=True)


@dataclass(frozen=True)
class Session:
    """Chains of records of one key, each less than a gap from the next.

    Attributes:
        range_: the gap, the distance that separates two records, in the attribute's unit. If N rows
            of other keys separate two records, these are N + 1 rows apart, and this is N + 1.
        attribute: the windowing attribute; `row_num`: rows of other keys count.
        pattr: attribute that is part of the key, or None.
        gaps: gaps of single keys that differ from `range_`.
    """

    range_: int
    attribute: str
    pattr: str | None = None
    gaps: Gaps = ()

    kind: ClassVar[str] = "session"
    slide: ClassVar[int] = 1
    origin: ClassVar[int] = 0
    align: ClassVar[Align] = "end"
    active: ClassVar[Activity | None] = None

    @property
    def traits(self) -> Traits:
        """The traits for code that handles all classes alike."""
        return _OF_ROWS if self.attribute == ROW_NUM else _IN_TIME

    def facts(self) -> Facts:
        """Return the window's facts for the fingerprint."""
        gaps = sorted(self.gaps, key=lambda gap: (type(gap[0]) is str, gap))
        return {
            "class": "session",
            "range": self.range_,
            "slide": self.slide,
            "over": self.attribute,
            "of_each": self.pattr,
            "gaps": [list(gap) for gap in gaps],
        }

    def title(self, spell: Spell) -> str:
        """Return the class and the lengths, for people."""
        by_rows = self.attribute == ROW_NUM
        gap = f"{self.range_ - 1} rows of others" if by_rows else spell(self.range_)
        own = f", {len(self.gaps)} keys with gaps of their own" if self.gaps else ""
        return f"sessions over {self.attribute}, parted by {gap}{own}"

    def first_extents(self, count: int) -> list[Extent]:
        """Return none: the records decide where sessions lie."""
        return []


def session_of(c: Clauses, types: Mapping[str, AttributeType], group_by: Sequence[str]) -> Session:
    """Build sessions from clauses: a length, an attribute, and optionally PATTR.

    Args: as for `windowing.model.windows.parsing.parse_window`, with clauses that have SESSION.

    Raises:
        WindowError: with the first code that applies.
    """
    others = (c.range_, c.slide, c.rattr, c.sattr, c.origin, c.order, c.align, c.zone)
    if c.wattr is None or any(clause is not None for clause in others):
        msg = "SESSION goes with WATTR and PATTR alone, as SESSION 30 minutes WATTR ts"
        raise WindowError("E_ATTR_MIX", msg)
    for name in filter(None, (c.wattr, c.pattr)):
        if name not in types:
            known = ", ".join(sorted(types))
            raise WindowError("E_ATTR_UNKNOWN", f"{name} names no field; known: {known}")
    kind = types[c.wattr]
    if kind == "text" or ROW_NUM in (c.pattr, *group_by):
        msg = f"SESSION needs a time, a number or rows, and a key that is none: {c.wattr}"
        raise WindowError("E_ATTR_TYPE", msg)
    # N rows of other keys separate two records, which are then N + 1 rows apart.
    more = 1 if c.wattr == ROW_NUM else 0
    gaps = [(key, amount("GAPS", gap, kind, positive=True) + more) for key, gap in c.gaps]
    range_ = amount("SESSION", c.session, kind, positive=True) + more
    return Session(range_, c.wattr, c.pattr, tuple(gaps))
