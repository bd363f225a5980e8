"""All classes of windows: those of the window language, and pairs of a join."""

from __future__ import annotations

from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window

CLASSES: tuple[type[Window], ...] = (
    Sliding,
    Landmark,
    RowWindow,
    SlideByTuple,
    SlideByN,
    SlideByRank,
    Session,
    Pairs,
)
"""What engine, definition and fingerprint each have an entry for."""


def known_class(window: Window) -> type[Window]:
    """The class of these that a window is of, whatever its own class adds to it or is called."""
    return next(class_ for class_ in CLASSES if isinstance(window, class_))
