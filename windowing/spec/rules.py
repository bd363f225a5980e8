"""Rules between a window and what stands around it: generator, keys, late records.

They follow the window's own rules in the order of the language's table of codes, so that a
configuration gives exactly one code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from windowing.spec.disorder import Disorder, Unordered, progress_attr
from windowing.spec.errors import WindowError
from windowing.spec.late import Mode, Policy
from windowing.spec.window import Window, WindowClass

_CONTEXT_FREE = (WindowClass.SLIDING, WindowClass.LANDMARK)


def in_log_order(window: Window) -> bool:
    """Whether the window numbers rows as they stand in the log, and so needs no generator."""
    return window.kind is WindowClass.TUPLE and window.order == "log"


def check_generator(window: Window, disorder: Disorder) -> None:
    """A window in log order needs no generator, every other one does.

    Raises:
        WindowError: E_DISORDER.
    """
    if in_log_order(window) != isinstance(disorder, Unordered):
        rule = "ORDER log needs none" if in_log_order(window) else "none is for ORDER log only"
        raise WindowError("E_DISORDER", f"{rule}; given {disorder}")


def check_progress_key(window: Window, group_by: Sequence[str], disorder: Disorder) -> None:
    """Progress per key needs rows of that key.

    Raises:
        WindowError: E_KEYED_PROGRESS.
    """
    attr = progress_attr(disorder)
    if attr is None or in_log_order(window) or attr == window.pattr:
        return
    if window.kind not in _CONTEXT_FREE:
        raise WindowError(
            "E_KEYED_PROGRESS", f"progress per {attr}: these windows need PATTR {attr}"
        )
    if attr not in group_by:
        raise WindowError(
            "E_KEYED_PROGRESS", f"progress per {attr}: use PATTR {attr} or group by {attr}"
        )


def check_late(window: Window, mode: str, policy: str, epoch: int | None) -> None:
    """Which late records can be shown later, and when.

    Args:
        window: the window.
        mode: of `late`.
        policy: of `late`.
        epoch: `every`, in the unit of the windowing attribute.

    Raises:
        WindowError: E_LATE, E_LATE_UPDATE or E_EPOCH.
    """
    if mode not in get_args(Mode) or policy not in get_args(Policy):
        raise WindowError("E_LATE", f"late: mode {mode!r}, policy {policy!r}: one is unknown")
    if policy == "update":
        if window.kind in (WindowClass.TUPLE, WindowClass.SLIDE_BY_RANK):
            raise WindowError("E_LATE_UPDATE", "update would renumber every row: use dead_letter")
        if window.kind is WindowClass.LANDMARK and mode == "consistent":
            raise WindowError(
                "E_LATE_UPDATE", "consistent landmark windows would release a record for ever"
            )
    if (policy == "update") != (epoch is not None) or (epoch is not None and epoch <= 0):
        raise WindowError("E_EPOCH", "update needs a positive every, and only update has one")
