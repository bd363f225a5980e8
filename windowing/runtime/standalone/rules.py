"""Limits of the row path and of standalone operators, checked on a flow."""

from __future__ import annotations

from collections.abc import Sequence

from windowing.engine.rows.flows.partial import FOLDS
from windowing.model.flow import JoinFlow, LaneStart, Periods, StreamFlow
from windowing.model.windows.traits import Ends, Order


def check_stream(
    flow: StreamFlow, lanes: Sequence[LaneStart], *, late_by: Periods | None, past_end: bool
) -> None:
    """Refuse flows that the window operator does not support.

    Raises:
        ValueError: with the rule, and what to do.
    """
    window, late = flow.window, flow.late
    traits = window.traits
    here = traits.merging or (traits.on_grid and window.align == "start")
    if not here or window.range_ is None or window.pattr is not None:
        msg = (
            f"a window operator has no windows like these ({window.kind}): take sliding windows or "
            "rows with align: start and without PATTR, or sessions"
        )
        raise ValueError(msg)
    if late.mode != "generous":
        msg = f"late mode {late.mode}: a window operator judges each window by itself: generous"
        raise ValueError(msg)
    _check_columns(flow)
    if traits.counts_arrivals and len(lanes) != 1:
        msg = (
            f"rows in the order of the log need one lane, not {len(lanes)}: use one, or order: "
            "event_time"
        )
        raise ValueError(msg)
    if traits.order is Order.CANONICAL and late.policy == "update":
        msg = "late update would renumber every row: use policy drop or dead_letter"
        raise ValueError(msg)
    if past_end and not (traits.counts_arrivals and traits.ends is Ends.ROWS):
        msg = "past_end goes with windows over rows in the order of the log: leave it out"
        raise ValueError(msg)
    if late_by is not None and (traits.merging or late.policy != "update"):
        msg = (
            "late_by goes with late: update and with windows: sessions merge in epochs of progress"
        )
        raise ValueError(msg)


def _check_columns(flow: StreamFlow) -> None:
    known = len(flow.aggregates) == 1 and flow.aggregates[0].function in FOLDS
    if not known or flow.aggregates[0].field not in ("value", None):
        msg = f"a window operator computes one aggregate of value: one of {', '.join(FOLDS)}"
        raise ValueError(msg)
    if flow.group_by not in ((), ("key",)):
        msg = f"group_by {list(flow.group_by)}: records of a window operator have a key alone"
        raise ValueError(msg)


def check_join(flow: JoinFlow, lanes: Sequence[LaneStart], *, by_clock: bool) -> None:
    """Refuse flows that the join does not support.

    Raises:
        ValueError: with the rule, and what to do.
    """
    sides = [lane.side for lane in lanes]
    if None in sides or set(sides) != {"left", "right"}:
        msg = "a join needs a side, left or right, for every lane, and a lane for every side"
        raise ValueError(msg)
    if flow.axis == "rows" and len(sides) != 2:
        msg = f"a join over rows has one lane per side, not {len(sides)} lanes: use axis: ts"
        raise ValueError(msg)
    if flow.on not in ({}, {"key": "key"}):
        msg = f"on {flow.on}: records of a join operator have a key alone"
        raise ValueError(msg)
    if by_clock and flow.kind != "inner":
        msg = (
            f"a {flow.kind} join goes by progress: by the wall clock nobody knows when no partner "
            "can come any more: leave by_clock out"
        )
        raise ValueError(msg)
    if by_clock and flow.session_gap is not None:
        msg = "a session join goes by progress: sessions may always grow: leave by_clock out"
        raise ValueError(msg)
