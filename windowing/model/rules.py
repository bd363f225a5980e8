"""Rules between a window and its surroundings: generator, keys, late records.

They are checked after the window's own rules, in the order of the language's table of codes, so
that a configuration gives exactly one code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from windowing.model.emission import Mode, Policy
from windowing.model.errors import WindowError
from windowing.model.lengths import AttributeStep
from windowing.model.progress import Disorder, Unordered
from windowing.model.query import Flow
from windowing.model.types import FieldType
from windowing.model.windows.window import ROW_NUM, Window

WINDOWS_MAX = 50_000_000
"""A step that would close more windows than this indicates a wrong event time, and fails."""


def in_log_order(window: Window) -> bool:
    """Return whether the window numbers rows in log order, and so needs no generator."""
    return window.attribute == ROW_NUM and window.traits.counts_arrivals


def ends_at_a_time(query: Flow, field: str) -> bool:
    """Whether the ends in a flow's rows are event times, which progress has passed.

    Ends of windows over rows are numbers, even if event time closes the windows. Operators in lane
    order do not wait for progress.
    """
    return query.attribute == field and query.waits


def closes_by_all_lanes(query: Flow, field: str) -> bool:
    """Whether, besides, the progress of every lane has passed the ends of rows that are sent."""
    return ends_at_a_time(query, field) and query.waits_for_topic is None


def check_generator(window: Window, disorder: Disorder) -> None:
    """Check that a window has a generator, unless it is in log order.

    Raises:
        WindowError: E_DISORDER.
    """
    if in_log_order(window) != isinstance(disorder, Unordered):
        rule = "ORDER log needs none" if in_log_order(window) else "none is for ORDER log only"
        raise WindowError("E_DISORDER", f"{rule}; given {disorder}")


def check_added_lanes(window: Window, added: Sequence[str]) -> None:
    """Check that rows counted on arrival have a single lane, or PATTR to separate them.

    Raises:
        WindowError: E_ARRIVAL_ORDER.
    """
    if added and window.traits.counts_arrivals and window.pattr is None:
        msg = f"{added[0]} joined, and these rows are counted in the order of one lane's arrival"
        raise WindowError("E_ARRIVAL_ORDER", f"{msg}: use PATTR, or ORDER event_time")


def check_progress_key(window: Window, group_by: Sequence[str], disorder: Disorder) -> None:
    """Check that progress per key comes with rows of that key.

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
    """Check that the windowing attribute is a number that is never null.

    Raises:
        WindowError: E_ATTR_TYPE.
    """
    if attribute in fields and fields[attribute].nullable:
        kind = fields[attribute].kind
        msg = f"{attribute} may be null, and null lies in no window: declare it {kind}, without ?"
        raise WindowError("E_ATTR_TYPE", msg)


def check_step(attribute: str, step: AttributeStep | None, *, timed: bool) -> None:
    """Check the unit of an epoch or retention: that of the attribute that orders the records.

    Args:
        attribute: the attribute that orders the query's records.
        timed: whether the attribute is the event time.

    Raises:
        WindowError: E_UNIT.
    """
    if step is not None and step.timed != timed:
        wanted = "a length of time" if timed else "a plain number"
        msg = f"{step}: late records of windows over {attribute} are given {wanted}"
        raise WindowError("E_UNIT", f"{msg}; a query may have a late and retention of its own")


def check_late(window: Window, mode: str, policy: str, epoch: int | None) -> None:
    """Check that the window supports the late policy.

    Args:
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
    """Check that gaps per key have a key of one field, and values of its type.

    Args:
        key: the fields of a row's key.
        types: of every field, `int`, `float` or `string`.

    Raises:
        WindowError: E_ATTR_TYPE.
    """
    if not window.gaps or any(field not in types for field in key):
        return  # parsing the key rejects unknown fields
    wanted = {"int": int, "string": str}.get(types[key[0]]) if len(set(key)) == 1 else None
    if wanted is None or any(type(value) is not wanted for value, _ in window.gaps):
        msg = f"gaps name values of the one field of the key, a string or an int; key: {list(key)}"
        raise WindowError("E_ATTR_TYPE", msg)
