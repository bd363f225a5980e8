"""Flows: computations over one stream or two, independent of how these are read.

A query of a pipeline is a `StreamFlow` with a name, and a pipeline's join is a `JoinFlow`; the
window operator and the join in other programs take the same two. The definition evaluates flows.

Lengths are in the unit of the windowing attribute: microseconds, steps of a number, or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from windowing.model.emission import Accumulation, Early, Late
from windowing.model.event_time import SpecModel
from windowing.model.fields import Aggregate, parse_aggregate
from windowing.model.join import Comparison, Side
from windowing.model.record import Record
from windowing.model.windows.window import Window

_Length = Annotated[int, Field(strict=True, ge=0)]
_Positive = Annotated[int, Field(strict=True, ge=1)]

Condition = Callable[[Record, Record], bool]
"""A condition on a left and a right record: a pure function of the two."""


def _aggregates(value: object) -> object:
    """Parse `{"total": "sum(value)"}`, as in a pipeline file; tuples pass unchanged."""
    if not isinstance(value, Mapping):
        return value
    return tuple(parse_aggregate(name, text) for name, text in value.items())


class StreamFlow(SpecModel):
    """One window over a stream and the aggregates of its extents.

    Attributes:
        name: of the flow, in its rows and in messages.
        group_by: fields that make up the row's key, in this order.
        aggregates: in the order of the row's columns.
        retention_us: how long after its end a window takes late records; None: forever, or without
            `update`.
        entries_max: the most partial states held at once by one shard or operator; None: any
            number.
        accumulation: what later revisions show.
        empty_after: how many windows that have no records on time are sent behind one that has
            some; 0: none.
    """

    name: str = "flow"
    window: Window
    group_by: tuple[str, ...] = ()
    aggregates: Annotated[tuple[Aggregate, ...], BeforeValidator(_aggregates)]
    late: Late = Late()
    retention_us: int | None = None
    entries_max: int | None = None
    early: Early | None = None
    accumulation: Accumulation = "accumulating"
    empty_after: Annotated[int, Field(strict=True, ge=0)] = 0

    @property
    def attribute(self) -> str:
        """What orders the records, and is asked whether one is late: the windowing attribute."""
        return self.window.attribute

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key: PATTR, then those of `group_by`."""
        return (*([self.window.pattr] if self.window.pattr else []), *self.group_by)


class JoinFlow(SpecModel):
    """A join of two streams.

    Attributes:
        left, right: how far back a side's records are visible to a later record of the other side:
            a distance in event time, inclusive, or a number of rows, including the current one;
            None: as far as the retention, or forever without one.
        kind: whose records are also sent alone, once no on-time partner can come.
        on: pairs of a left and a right field that must be equal; null equals nothing. Without any,
            all records match.
        axis: event time, or the number of a row within its lane.
        session_gap: records match if they share a session of their key, over both sides, instead of
            a window; None: windows.
        retention_us: how long records are kept for late ones; None: forever.
        entries_max: the most records held at once; None: any number.
    """

    left: _Length | None = None
    right: _Length | None = None
    kind: Literal["inner", "left", "right", "full"] = "inner"
    on: dict[str, str] = Field(default_factory=dict)
    where: tuple[Comparison, ...] | Condition = ()
    axis: Literal["ts", "rows"] = "ts"
    session_gap: _Positive | None = None
    late: Late = Late()
    retention_us: _Length | None = None
    entries_max: _Positive | None = None

    @model_validator(mode="after")
    def _rules_of_sessions(self) -> JoinFlow:
        if self.session_gap is None:
            return self
        if not self.on:
            msg = (
                "a session join needs the session key among its join keys: give on, or join within "
                "windows"
            )
            raise ValueError(msg)
        if (self.left, self.right) != (None, None) or self.axis != "ts":
            msg = "a session join goes by event time, and its sides have no windows: take them out"
            raise ValueError(msg)
        if self.kind != "inner":
            msg = "a session join is an inner join: sessions may always grow"
            raise ValueError(msg)
        return self

    def seen_for(self, side: Side) -> int | None:
        """How far back a side's records are seen, where that is said: `left` or `right`."""
        return self.left if side == "left" else self.right

    def keeps(self, side: Side) -> bool:
        """Return whether a side's records without a partner are sent alone."""
        return self.kind in (side, "full")

    def reach(self, side: Side) -> int | None:
        """The largest distance at which a record of a side is still in its window."""
        window = self.seen_for(side)
        if window is None:
            return self.retention_us
        return window if self.axis == "ts" else window - 1

    def key_fields(self, side: Side) -> tuple[str, ...]:
        """Return the fields of a side that must equal those of the other."""
        return tuple(self.on) if side == "left" else tuple(self.on.values())


@dataclass(frozen=True)
class LaneStart:
    """A lane that an operator reads, and where it begins.

    Attributes:
        start_offset: the offset of its first record; later offsets are contiguous.
        side: in joins, the stream it belongs to.
    """

    source: str
    partition: int
    start_offset: int = 0
    side: Side | None = None

    @property
    def name(self) -> str:
        """The lane's name, `source/partition`."""
        return f"{self.source}/{self.partition}"


@dataclass(frozen=True)
class Periods:
    """Periods of the caller's clock, for actions that do not follow from the log.

    Which rows such periods produce depends on the times of calls and is outside the promise; the
    final content is not.

    Attributes:
        every_us: the length of a period; 0: every call.
    """

    every_us: int = 0
    origin_us: int = 0


@dataclass(frozen=True)
class Deliveries:
    """When the records of one side are joined, by the caller's clock.

    Attributes:
        ontime, late: the periods of on-time and of late records.
    """

    ontime: Periods = Periods()
    late: Periods = Periods()


@dataclass(frozen=True)
class KeyOrder:
    """Storage layout of a join's records, by how they are mostly read.

    Attributes:
        time_range: by time range.
        large_window: in windows that hold many records of other keys.
        keyed_store: in a store that finds one key's records, and no others, fast.
    """

    time_range: bool = False
    large_window: bool = False
    keyed_store: bool = False
