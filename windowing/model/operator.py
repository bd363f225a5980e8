"""What a standalone window operator is told to do: windows, policies, retention, lanes.

Lengths and instants are on the operator's axis: microseconds of event time, or rows. Wall-clock
periods are microseconds, too. Every interval is half-open.

Source: SAMZA-552, "Operator and runtime for window", sections on the aggregator and join APIs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from windowing.model.join import Side
from windowing.model.record import Record

AggregateName = Literal["count", "sum", "min", "max", "first", "last", "collect", "median"]
HOLISTIC: tuple[AggregateName, ...] = ("collect", "median")
"""Aggregates that need every record of a window, and so a message store."""

Accumulation = Literal["accumulating", "discarding", "retracting"]
DEFAULT_LATE_EVERY_US = 10_000_000

_Length = Annotated[int, Field(strict=True, ge=1)]
_Period = Annotated[int, Field(strict=True, ge=0)]
_Integer = Annotated[int, Field(strict=True)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LaneSpec(_Model):
    """One partition of a source.

    Attributes:
        source: its name.
        partition: its number.
        start_offset: the offset of its first record; offsets have no holes from there.
        side: for joins, which stream it belongs to.
    """

    source: str
    partition: _Integer
    start_offset: _Integer = 0
    side: Literal["left", "right"] | None = None

    @property
    def name(self) -> str:
        """The lane's name, `source/partition`."""
        return f"{self.source}/{self.partition}"


class TimeWindows(_Model):
    """Windows `[origin + k·step, origin + k·step + size)` of event time, for every integer k."""

    size: _Length
    step: _Length
    origin: _Integer = 0


class RowWindows(_Model):
    """Windows over the ranks of rows, `[k·step, k·step + size)` for k = 0, 1, ….

    Attributes:
        order: `log`: rows as they stand in the only lane; `event_time`: in canonical order, as
            progress passes them.
        full: `closed`: sent with the last row of the window; `past_end`: with the row after it.
    """

    size: _Length
    step: _Length
    order: Literal["log", "event_time"] = "log"
    full: Literal["closed", "past_end"] = "closed"


class TimeSessions(_Model):
    """Records of a key whose chain of distances in event time is below the gap.

    Attributes:
        gap: exactly this distance starts a new session.
        gap_by_key: other gaps for some keys.
    """

    gap: _Length
    gap_by_key: dict[str, _Length] = {}

    def gap_of(self, key: str | None) -> int:
        """The gap that ends a session of this key."""
        return self.gap if key is None else self.gap_by_key.get(key, self.gap)


class RowSessions(_Model):
    """Records of a key with fewer than `foreign` rows of other keys between them, in one lane."""

    foreign: _Length

    def gap_of(self, key: str | None) -> int:
        """The distance of ranks that starts a new session."""
        return self.foreign + 1


Windows = TimeWindows | RowWindows | TimeSessions | RowSessions


class LateRecords(_Model):
    """What becomes of late records.

    Attributes:
        policy: `update` sends later revisions; `dead_letter` and `drop` refuse.
        clock: of `update`: epochs of progress, or batches by the wall clock (these depend on when
            calls are made and are outside the promise; final content is not).
        every: length of an epoch, or the period of the wall clock (0: at every call).
        origin: where the periods of the wall clock begin.
    """

    policy: Literal["update", "drop", "dead_letter"] = "update"
    clock: Literal["progress", "wall"] = "progress"
    every: _Period = DEFAULT_LATE_EVERY_US
    origin: _Integer = 0

    @model_validator(mode="after")
    def _epochs_have_a_length(self) -> LateRecords:
        if self.policy == "update" and self.clock == "progress" and self.every == 0:
            msg = "every: 0 is no length of an epoch: use every: 1 or more, or clock: wall"
            raise ValueError(msg)
        return self


class EarlyTicks(_Model):
    """Provisional rows of what changed, at most one per period of the wall clock."""

    every: _Period
    origin: _Integer = 0


class EarlyRecords(_Model):
    """Provisional rows at any call that finds `records` new ones."""

    records: _Length


Early = EarlyTicks | EarlyRecords


class Retention(_Model):
    """How long a closed window stays; without any, for ever.

    Attributes:
        time: beyond its end, on the window's axis.
        windows: the same in steps; of two the smaller counts.
        max_entries: how many windows, messages and waiting records may be stored at once; a call
            that needs more is refused as a whole, nothing is dropped.
    """

    time: _Period | None = None
    windows: _Period | None = None
    max_entries: _Length | None = None

    def length(self, step: int) -> int | None:
        """The retention on the axis; None: for ever."""
        given = [] if self.time is None else [self.time]
        if self.windows is not None:
            given.append(self.windows * step)
        return min(given, default=None)


class _OperatorSpec(_Model):
    """What aggregators and joins share.

    Attributes:
        lanes: all partitions that are read; progress waits for each of them.
        slack: a record promises that nothing older than `ts - slack` follows in its lane; None:
            only control records promise anything.
        late, retention: see there.
    """

    lanes: Annotated[tuple[LaneSpec, ...], Field(min_length=1)]
    slack: _Period | None = 0
    late: LateRecords = LateRecords()
    retention: Retention = Retention()

    @model_validator(mode="after")
    def _lanes_are_named_once(self) -> _OperatorSpec:
        names = [lane.name for lane in self.lanes]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"lane {twice[0]} stands twice: name each partition once"
            raise ValueError(msg)
        return self


class AggregatorSpec(_OperatorSpec):
    """A windowed aggregate of the records' values.

    Attributes:
        windows: which windows, or sessions.
        aggregate: the function.
        group: one result per window and key; else keys are ignored, and every row's key is None.
        early: provisional rows, if any.
        accumulation: what a row shows: all of its window; what is new since the window's row
            before; or all, after the row before was taken back.
    """

    windows: Windows
    aggregate: AggregateName
    group: bool = True
    early: Early | None = None
    accumulation: Accumulation = "accumulating"

    @model_validator(mode="after")
    def _rules(self) -> AggregatorSpec:
        windows = self.windows
        by_log = isinstance(windows, RowSessions) or (
            isinstance(windows, RowWindows) and windows.order == "log"
        )
        if by_log and len(self.lanes) != 1:
            msg = (
                f"rows in the order of the log need one lane, not {len(self.lanes)}: use one, or "
                "order: event_time"
            )
            raise ValueError(msg)
        if isinstance(windows, RowWindows) and windows.order == "event_time":
            if self.late.policy == "update":
                msg = "late update would renumber every row: use policy drop or dead_letter"
                raise ValueError(msg)
            if windows.full == "past_end":
                msg = "full: past_end goes with order: log; use closed"
                raise ValueError(msg)
        sessions = isinstance(windows, TimeSessions | RowSessions)
        if sessions and self.retention.windows is not None:
            msg = "sessions have no step: give their retention as time, not as windows"
            raise ValueError(msg)
        if isinstance(windows, TimeSessions) and self.late.clock == "wall":
            msg = "late sessions merge in epochs of progress: use clock: progress"
            raise ValueError(msg)
        return self

    @property
    def holistic(self) -> bool:
        """Whether the aggregate needs every record, and so a message store."""
        return self.aggregate in HOLISTIC


class SideSpec(_Model):
    """One stream of a join.

    Attributes:
        window: how far back this side is seen from a later record of the other one: a distance of
            event time, inclusive, or a number of rows, the current one included; None: unbounded,
            or as far as the retention.
        ontime, late: with the wall clock, how often its records are joined; 0: at every call.
        origin: where those periods begin.
    """

    window: _Period | None
    ontime: _Period = 0
    late: _Period = 0
    origin: _Integer = 0


class JoinSpec(_OperatorSpec):
    """A join of two streams.

    Attributes:
        axis: event time, or the row number within the lane.
        left, right: the sides.
        kind: whose records are also sent alone, once no partner on time can come any more: nobody's
            (`inner`), one side's, or (`full`) both sides'.
        clock: pairs in the order of progress, a function of the log; or by the wall clock.
        equality: keys must be equal, and None equals nothing; else every key goes with every one.
        session_gap: records match if they are in one session of their key, over both sides, instead
            of in each other's window; None: windows.
        condition: what else a left and a right record must fulfil, a function of the two and of
            nothing else; None: nothing.
        time_range, large_window, keyed_store: what decides the layout of the message keys.
    """

    axis: Literal["ts", "rows"]
    left: SideSpec
    right: SideSpec
    kind: Literal["inner", "left", "right", "full"] = "inner"
    clock: Literal["progress", "wall"] = "progress"
    equality: bool = True
    session_gap: _Length | None = None
    condition: Callable[[Record, Record], bool] | None = None
    time_range: bool = False
    large_window: bool = False
    keyed_store: bool = False

    @model_validator(mode="after")
    def _rules(self) -> JoinSpec:
        sides = [lane.side for lane in self.lanes]
        if None in sides or set(sides) != {"left", "right"}:
            msg = "a join needs a side, left or right, for every lane, and a lane for every side"
            raise ValueError(msg)
        if self.axis == "rows" and len(sides) != 2:
            msg = f"a join over rows has one lane per side, not {len(sides)} lanes: use axis: ts"
            raise ValueError(msg)
        if self.retention.windows is not None:
            msg = "a join has no step: give its retention as time, not as windows"
            raise ValueError(msg)
        if self.kind != "inner" and self.clock == "wall":
            msg = (
                f"a {self.kind} join needs clock: progress: by the wall clock nobody knows when no "
                "partner can come any more"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _rules_of_sessions(self) -> JoinSpec:
        if self.session_gap is None:
            return self
        if not self.equality:
            msg = (
                "a session join needs the session key among its join keys: leave equality: true, "
                "or join within windows"
            )
            raise ValueError(msg)
        windows = [self.side(side).window for side in ("left", "right")]
        if windows != [None, None] or self.axis != "ts":
            msg = "a session join goes by event time, and its sides have no windows: take them out"
            raise ValueError(msg)
        if self.kind != "inner" or self.clock != "progress":
            msg = "a session join is an inner join by clock: progress: sessions may always grow"
            raise ValueError(msg)
        return self

    def keeps(self, name: Side) -> bool:
        """Whether a side's records are sent alone if they have no partner."""
        return self.kind in (name, "full")

    def side(self, name: Side) -> SideSpec:
        """One of the sides."""
        return self.left if name == "left" else self.right

    def reach(self, name: Side) -> int | None:
        """The largest distance at which a record of a side is still in its window."""
        window = self.side(name).window
        if window is None:
            return self.retention.time
        return window if self.axis == "ts" else window - 1
