"""Context classes: what must be known beside a record to name its windows.

CF (context free), FCF and FCA (forward context free and aware; bounded: FCB, unbounded: FCU).

Source: Li et al., SIGMOD 2005, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.windows.by_record import SlideByRank
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
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
    match window:
        case Sliding():
            return Context("CF", "context free: the record alone tells its windows")
        case Landmark():
            return Context(
                "CF",
                "context free: the record alone tells the first of its windows, and all follow",
            )
        case RowWindow(order="log"):
            return Context(
                "FCF",
                "forward context free: the record's number tells its windows, the past its number",
            )
        case RowWindow():
            return Context(
                "FCF",
                "forward context free in the order of event time: a record's number is its rank",
            )
        case Session():
            return Context(
                "FCU",
                "forward context aware, unbounded: a session ends when a gap has passed, and a "
                "late record may merge two",
            )
        case SlideByRank():
            return Context(
                "FCU",
                "forward context aware, unbounded: which records are windows shows when all before "
                "them are there",
            )
    return Context(
        "FCB",
        "forward context aware, bounded: the record's windows lie at records up to one range on",
    )
