"""Context classes: what must be known beside a record to name its windows.

CF (context free), FCF and FCA (forward context free and aware; bounded: FCB, unbounded: FCU).

Source: Li et al., SIGMOD 2005, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.windows.traits import Ends, Order
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class Context:
    """What must be known beside a record to name its windows.

    Attributes:
        name: CF, FCF, FCB or FCU.
        meaning: what that says of this window.
    """

    name: str
    meaning: str


def context_of(window: Window) -> Context:
    """Give the context class of a window."""
    traits = window.traits
    if traits.merging:
        return Context(
            "FCU",
            "forward context aware, unbounded: a session ends when a gap has passed, and a late "
            "record may merge two",
        )
    if traits.ends is Ends.ROWS:
        return _OF_ROWS if traits.counts_arrivals else _OF_RANKS
    if traits.at_records:
        return _AT_RANKS if traits.order is Order.CANONICAL else _AT_RECORDS
    if traits.cumulative:
        return Context(
            "CF", "context free: the record alone tells the first of its windows, and all follow"
        )
    return Context("CF", "context free: the record alone tells its windows")


_OF_ROWS = Context(
    "FCF", "forward context free: the record's number tells its windows, the past its number"
)
_OF_RANKS = Context(
    "FCF", "forward context free in the order of event time: a record's number is its rank"
)
_AT_RANKS = Context(
    "FCU",
    "forward context aware, unbounded: which records are windows shows when all before them are "
    "there",
)
_AT_RECORDS = Context(
    "FCB", "forward context aware, bounded: the record's windows lie at records up to one range on"
)
