"""All built-in classes of windows: those of the window language, and a join's pairs."""

from __future__ import annotations

from typing import Any

from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.registry import WINDOWS
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding

CLASSES: tuple[type[Any], ...] = (
    Sliding,
    Landmark,
    RowWindow,
    SlideByTuple,
    SlideByN,
    SlideByRank,
    Session,
    Pairs,
)
"""The classes of the window language, and that of a join."""

for _class in CLASSES:
    WINDOWS.add(_class.kind, _class, f"{_class.__module__}.{_class.__name__}")
