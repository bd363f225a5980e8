"""What a window is: one file for each class of windows, and what every such file says.

`extent` is what a window spans, `hold` puts records into windows, `closed` says whether a window's
first row was sent, `lateness` for which windows a record is late.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol, cast

from windowing.model.file.pipeline import Query
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.classes import known_class
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window
from windowing.semantics.units import Holding, Item, Lateness, Unit
from windowing.semantics.windows import (
    joins,
    landmark,
    sessions,
    slide_by_n,
    slide_by_rank,
    slide_by_tuple,
    sliding,
    tuples,
)


class Definition(Protocol):
    """The definition of one class of windows; of sessions and joins, the last two alone."""

    def extent(self, window: Window, wid: int) -> tuple[int, int]:
        """Start and end; which of them belongs to the window depends on the class."""

    def hold(self, query: Query, unit: Unit) -> list[Holding]:
        """What each window holds of a unit, and since when."""

    def closed(self, window: Window, wid: int, unit: Unit) -> bool:
        """Whether revision 0 of a window was sent by the end of the log."""

    def takes(self, query: Query, item: Item) -> bool:
        """Whether a record is in some window, closed or not, at revision 0 or later.

        Where records define windows, one that there may be is enough: which there are depends on
        records that are still to come, and what became of a record must not.
        """

    def lateness(self, query: Query, item: Item) -> Lateness | None:
        """For which windows a record is late; None: for none."""


_CLASSES: dict[type[Window], ModuleType] = {
    Sliding: sliding,
    Landmark: landmark,
    RowWindow: tuples,
    SlideByTuple: slide_by_tuple,
    SlideByN: slide_by_n,
    SlideByRank: slide_by_rank,
    Session: sessions,
    Pairs: joins,
}


def definition_of(window: Window) -> Definition:
    """The definition of a window's class."""
    return cast("Definition", _CLASSES[known_class(window)])
