"""What a window is: three functions, one file for each class of windows.

`windows` are the ids, `extent` is what a window spans, `wids` are the windows of one record;
extent and wids are inverses of each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from windowing.semantics import sliding
from windowing.spec.window import Window, WindowClass

_CLASSES: dict[WindowClass, ModuleType] = {WindowClass.SLIDING: sliding}


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return (start_us, end_us) of window `wid`, half-open, the start clipped at the origin.

    Raises:
        ValueError: a class of windows that has no definition here.
    """
    span: tuple[int, int] = _definition(window).extent(window, wid)
    return span


def wids(window: Window, ts_us: int) -> range:
    """Return the ids of the windows that hold a record of this time, in the order of their ends.

    Empty for a record before the origin, and for one in a gap between windows.

    Raises:
        ValueError: a class of windows that has no definition here.
    """
    ids: range = _definition(window).wids(window, ts_us)
    return ids


def windows(window: Window, records_us: Iterable[int]) -> list[int]:
    """Return the ids of the windows that hold at least one of these records, ascending."""
    return sorted({wid for ts_us in records_us for wid in wids(window, ts_us)})


def _definition(window: Window) -> ModuleType:
    if window.kind not in _CLASSES:
        known = ", ".join(_CLASSES)
        msg = f"windows of class {window.kind} have no definition in this release (known: {known})"
        raise ValueError(msg)
    return _CLASSES[window.kind]
