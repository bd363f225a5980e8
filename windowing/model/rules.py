"""Rules between a window and its surroundings: generator, keys, late records.

They follow the window's own rules in the order of the language's table of codes, so that a
configuration gives exactly one code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from windowing.model.errors import WindowError
from windowing.model.fields import FieldType
from windowing.model.late import Mode, Policy
from windowing.model.lengths import Step
from windowing.model.progress import Disorder, Unordered
from windowing.model.query import Flow
from windowing.model.windows.window import ROW_NUM, Window

WINDOWS_MAX = 50_000_000
"""More windows than this at once are a time that leaps ahead, and no result."""


def in_log_order(window: Window) -> bool:
    """Whether the window numbers rows as they stand in the log, and so needs no generator."""
    return window.attribute == ROW_NUM and window.traits.counts_arrivals


def ends_at_a_time(query: Flow, field: str) -> bool:
    """Whether the ends in a flow's rows are event times, which stand in this field.

    The ends of windows over rows are numbers, also where event time closes them.
    """
    return query.attribute == field


def check_generator(window: Window, disorder: Disorder) -> None:
    """A window in log order needs no generator, every other one does.

    Raises:
        WindowError: E_DISORDER.
    """
    if in_log_order(window) != isinstance(disorder, Unordered):
        rule = "ORDER log needs none" if in_log_order(window) else "none is for ORDER log only"
        raise WindowError("E_DISORDER", f"{rule}; given {disorder}")


def check_joined(window: Window, joined: Sequence[str]) -> None:
    """Rows that are counted as they arrive have one lane, or PATTR to say which is whose.

    Args:
        window: the window.
        joined: the names of lanes that joined.

    Raises:
        WindowError: E_ARRIVAL_ORDER.
    """
    if joined and window.traits.counts_arrivals and window.pattr is None:
        msg = f"{joined[0]} joined, and these rows are counted in the order of one lane's arrival"
        raise WindowError("E_ARRIVAL_ORDER", f"{msg}: use PATTR, or ORDER event_time")


def check_progress_key(window: Window, group_by: Sequence[str], disorder: Disorder) -> None:
    """Progress per key needs rows of that key.

    Raises:
        WindowError: E_KEYED_PROGRESS.
    """
    attr = disorder.progress_attr
    if attr is None or in_log_order(window) or attr == window.pattr:
        return
    if not window.traits.per_key:
        raise WindowError(
            "E_KEYED_PROGRESS", f"progress per {attr}: these windows need PATTR {attr}"
        )
    if attr not in group_by:
        raise WindowError(
            "E_KEYED_PROGRESS", f"progress per {attr}: use PATTR {attr} or group by {attr}"
        )


def check_number(attribute: str, fields: Mapping[str, FieldType]) -> None:
    """Every record has a place in windows over a field only if that is never null.

    Raises:
        WindowError: E_ATTR_TYPE.
    """
    if attribute in fields and fields[attribute].nullable:
        kind = fields[attribute].kind
        msg = f"{attribute} may be null, and null lies in no window: declare it {kind}, without ?"
        raise WindowError("E_ATTR_TYPE", msg)


def check_step(attribute: str, step: Step | None, *, timed: bool) -> None:
    """An epoch, or retention, is a length along the attribute that orders a query's records.

    Args:
        attribute: that attribute.
        step: the length, if any is given.
        timed: whether the attribute is the event time.

    Raises:
        WindowError: E_UNIT.
    """
    if step is not None and step.timed != timed:
        wanted = "a length of time" if timed else "a plain number"
        msg = f"{step}: late records of windows over {attribute} are given {wanted}"
        raise WindowError("E_UNIT", f"{msg}; a query may have a late and retention of its own")


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
        if not window.traits.revisable:
            raise WindowError("E_LATE_UPDATE", "update would renumber every row: use dead_letter")
        if window.traits.cumulative and mode == "consistent":
            raise WindowError(
                "E_LATE_UPDATE", "consistent landmark windows would release a record forever"
            )
    if (policy == "update") != (epoch is not None) or (epoch is not None and epoch <= 0):
        raise WindowError("E_EPOCH", "update needs a positive every, and only update has one")


def check_gaps(window: Window, key: Sequence[str], types: Mapping[str, str]) -> None:
    """Other gaps for single keys need keys of one field, and values of its type.

    Args:
        window: the window.
        key: the fields of a row's key.
        types: of every field, `int`, `float` or `string`.

    Raises:
        WindowError: E_ATTR_TYPE.
    """
    if not window.gaps or any(field not in types for field in key):
        return  # a field that does not exist is refused where the key is read
    wanted = {"int": int, "string": str}.get(types[key[0]]) if len(set(key)) == 1 else None
    if wanted is None or any(type(value) is not wanted for value, _ in window.gaps):
        msg = f"gaps name values of the one field of the key, a string or an int; key: {list(key)}"
        raise WindowError("E_ATTR_TYPE", msg)
