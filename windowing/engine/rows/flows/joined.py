"""What a join knows of a record, the rows that are due, and the order of messages."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.model.flow import JoinFlow, KeyOrder
from windowing.model.record import Pair, Place, Progress, Record, place_of


class Joined(msgspec.Struct, array_like=True):
    """A record and what the join knows of it.

    Attributes:
        record: the record.
        at: its value on the axis.
        instant: when it is delivered, by progress.
        late: whether it came late.
        delivered: whether it has been.
        paired: the instant of its first pair; None: it has none.
        alone: it was sent alone, and that row stands.
    """

    record: Record
    at: int
    instant: int
    late: bool
    delivered: bool = False
    paired: int | None = None
    alone: bool = False

    @property
    def place(self) -> Place:
        """Its position."""
        return place_of(self.at, self.record.lane, self.record.offset)


class DueRow(NamedTuple):
    """A row and where it stands among the others: the instant, and what comes first at it."""

    instant: Progress
    kind: Literal["retracts", "pair", "single"]
    left: Joined | None
    right: Joined | None

    @property
    def order(self) -> tuple[Progress, int, list[Place], list[Place]]:
        """The sorting key; where there is no record, it comes first."""
        left, right = ([] if one is None else [one.place] for one in (self.left, self.right))
        return self.instant, ("retracts", "pair", "single").index(self.kind), left, right

    @property
    def row(self) -> Pair:
        """The row as it is sent."""
        left, right = (None if one is None else one.record for one in (self.left, self.right))
        return Pair(left, right, retracts=self.kind == "retracts")


def layout_of(flow: JoinFlow, order: KeyOrder) -> keys.Layout:
    """The layout of a join's message keys: what is asked for most stands first."""
    if flow.axis == "rows":
        by_key = order.keyed_store or (flow.on and order.large_window)
        return "eq_offset" if by_key else "offset"
    if order.keyed_store or flow.session_gap is not None:
        return "eq_ts_offset"
    if not flow.on:
        return "ts_offset"
    return "ts_eq_offset" if order.time_range and not order.large_window else "eq_ts_offset"
