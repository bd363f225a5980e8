"""All classes of windows of the window language."""

from __future__ import annotations

from typing import Any

from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
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
)
"""Those that the window language spells."""

for _class in CLASSES:
    WINDOWS.add(_class.kind, _class, f"{_class.__module__}.{_class.__name__}")
