"""Window joins: pairs of records with equal keys that lie in the same window.

Persons who registered, and opened an auction, in the same ten minutes: `kind: window` and `window:
RANGE 10 minutes SLIDE 10 minutes`. The windows are those of a query, over the event time of either
side; a pair that shares several of them has a row in each.

Source: window joins of Flink SQL, and Nexmark's query 8; lateness and revisions are ours
(`windowing/adr/0072`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from windowing.model.emission import Late, Retention
from windowing.model.errors import shown
from windowing.model.join import Join, JoinSide, Side
from windowing.model.limits import check_lengths
from windowing.model.operators.join import SIDES, Blaming
from windowing.model.query import JoinQuery
from windowing.model.rules import check_late
from windowing.model.sinks import SinkRules
from windowing.model.windows.language import AttributeType
from windowing.model.windows.own import own_kind
from windowing.model.windows.parsing import parse_window
from windowing.model.windows.traits import Order
from windowing.model.windows.window import Window

KIND: Final = "window"
_EXAMPLE: Final = "window: RANGE 10 minutes SLIDE 10 minutes"
_WATTR: Final = re.compile(r"\bwattr\b", re.IGNORECASE)


class WindowJoinQuery(JoinQuery):
    """A pipeline's window join, all defaults applied.

    Attributes:
        kind: whose records are sent alone in windows in which they have no partner; `inner`: none.
        over: the windows, along the left side's event time, whose name stands for both sides'.
    """

    flow_kind: ClassVar[str] = "window join"
    over: Window

    @property
    def extents_in(self) -> Window:
        """The windows that rows show the extents of."""
        return self.over


def window_of(join: Join) -> Window:
    """Return the windows in which records meet; their attribute may be left out in the file.

    Raises:
        WindowError: they break a rule of the language.
        ValueError: they are of another class.
    """
    left, right = (side.source.event_time.field for side in (join.left, join.right))
    times: dict[str, AttributeType] = {left: "time", right: "time"}
    window = parse_window(_with_attribute(join.window or ""), times)
    traits = window.traits
    if traits.order is not Order.FREE or traits.merging or traits.at_records or traits.cumulative:
        msg = (
            f"{shown(join.window)}: a record of a window join lies in windows that its own time "
            f"decides: write RANGE and SLIDE, as {_EXAMPLE}"
        )
        raise ValueError(msg)
    check_lengths(window)
    changed: Any = window
    return window if window.attribute == left else replace(changed, attribute=left)


def _with_attribute(window: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return a window with WATTR: over the event time, if it does not say what else."""
    if not isinstance(window, str):
        lacking = {str(name).lower() for name in window}.isdisjoint(_OF_OTHER_WINDOWS)
        return {**window, "wattr": "event_time"} if lacking or own_kind(window) else window
    text = window.strip().removeprefix("[").removesuffix("]")
    return window if _WATTR.search(text) or not text else f"{text} WATTR event_time"


_OF_OTHER_WINDOWS: Final = frozenset({"wattr", "rattr", "sattr"})


def resolve_window_join(join: Join, late: Late, retention: Retention) -> WindowJoinQuery:
    """Return a window join with all defaults applied."""
    window, update = window_of(join), late.policy == "update"
    return WindowJoinQuery(
        sources=(join.left.source, join.right.source),
        over=window,
        kind=join.outer or "inner",
        on=join.equal,
        where=join.where,
        select=join.select,
        late=late,
        retention_us=retention.length_us(window) if update else None,
        entries_max=retention.entries,
    )


def checks_of_window_join(
    join: Join, late: Late, retention: Retention, rules: SinkRules, blaming: Blaming
) -> Iterator[Callable[[], object]]:
    """Yield what holds of window joins, and of others: calls that raise where it does not.

    Args:
        rules: of the sink.
        blaming: attributes a broken rule to a part of the file.
    """
    if join.kind != KIND:
        for name, value in (("window", join.window), ("outer", join.outer)):
            if value is not None:
                yield partial(_only_here, name, blaming)
        return

    def window() -> None:
        with blaming("join", "window"):
            if join.window is None:
                msg = f"kind: {KIND} needs the windows in which records meet, as {_EXAMPLE}"
                raise ValueError(msg)
            rules.check_window(window_of(join))

    def operator() -> None:
        with blaming("join", "operator"):
            if join.operator is not None:
                msg = f"kind: {KIND} has windows of its own, and SPL's join too: take operator out"
                raise ValueError(msg)

    def lateness() -> None:
        found = _found(join)
        if found is not None:
            with blaming("late"):
                check_late(found, late.mode, late.policy, late.every_us)
            with blaming("retention"):
                retention.length_us(found)

    yield from (window, operator, lateness)
    for side in SIDES:
        yield partial(_check_side, side, join.side(side), blaming)


def _found(join: Join) -> Window | None:
    """Return the windows; None: they are wrong, which is reported elsewhere."""
    try:
        return window_of(join)
    except ValueError:
        return None


def _only_here(name: str, blaming: Blaming) -> None:
    with blaming("join", name):
        msg = f"{name} goes with kind: {KIND}: take it out, or write kind: {KIND}"
        if name == "outer":
            msg += "; with other kinds, kind itself says so, as kind: left"
        raise ValueError(msg)


def _check_side(name: Side, side: JoinSide, blaming: Blaming) -> None:
    with blaming("join", name, "window"):
        if side.window is not None:
            msg = (
                f"with kind: {KIND} the join has one window for both sides: take the {name} side's "
                "out"
            )
            raise ValueError(msg)
