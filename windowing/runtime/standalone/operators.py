"""`WindowedAggregator` and `WindowJoin`, in any Python program; and which flows they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.joins import SIDES, JoinOperator
from windowing.engine.rows.flows.partial import FOLDS, is_holistic
from windowing.engine.rows.flows.sessions import SessionOperator
from windowing.engine.rows.flows.windows import WindowOperator
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart, Periods, StreamFlow
from windowing.model.join import Side
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Pair, Progress, Record, WindowRow, WindowView
from windowing.model.windows.traits import Ends, Order
from windowing.runtime.standalone.errors import NoMessageStore
from windowing.runtime.standalone.shell import StandaloneOperator


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
    if flow.empty_after:
        msg = "a window operator sends no rows of windows without records: leave empty_after out"
        raise ValueError(msg)
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


class AnyKey:
    """The marker for all keys in a query, as None is a key like any other."""


ANY = AnyKey()
_SORTED = Slack(0)


class WindowedAggregator(StandaloneOperator[WindowRow, WindowOperator | SessionOperator]):
    """An aggregator per window and key, whose full and late rows are a function of the log.

    Args:
        flow: the flow, over the records' `value`, per `key` or for all together.
        lanes: all partitions that are read; progress waits for each of them.
        consumer: takes a row, or refuses it by returning False; None: rows wait for `get_result`.
        store: holds the checkpoint; by default a new one in memory.
        disorder: what a data record promises.
        late_by: show late records by these periods of the clock, not by epochs of progress.
        past_end: send a window over rows in log order with the row after it, not with its last.

    Raises:
        ValueError: the row path does not support the flow.

    Example:
        >>> from windowing import Bound, LaneStart, Record, Sliding, StreamFlow
        >>> flow = StreamFlow(
        ...     window=Sliding(range_=10, slide=10, attribute="ts", align="start"),
        ...     group_by=("key",),
        ...     aggregates={"total": "sum(value)"},
        ... )
        >>> operator = WindowedAggregator(flow, [LaneStart("s", 0)])
        >>> _ = operator.add([Record("s/0", 0, ts=3, key="a", value=5), Bound("s/0", 1, 10)], 0)
        >>> [(row.start, row.key, row.pane, row.value) for row in operator.get_result()]
        [(0, 'a', 'full', 5)]
    """

    def __init__(
        self,
        flow: StreamFlow,
        lanes: Sequence[LaneStart],
        consumer: Callable[[WindowRow], bool] | None = None,
        store: StateStore | None = None,
        *,
        disorder: Slack | Punctuation = _SORTED,
        late_by: Periods | None = None,
        past_end: bool = False,
    ) -> None:
        check_stream(flow, lanes, late_by=late_by, past_end=past_end)
        self._without_messages = None if is_holistic(flow) else flow.aggregates[0].function
        self._by_session = flow.window.traits.merging
        make = (
            partial(SessionOperator, flow)
            if self._by_session
            else partial(WindowOperator, flow, late_by=late_by, past_end=past_end)
        )
        super().__init__(flow, lanes, disorder, make, consumer=consumer, store=store)

    def get_windows(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
    ) -> list[WindowView]:
        """Return windows that overlap [start, end), by start and key; sessions by key first."""
        rows, pending = self._operator.parts.rows, not self._by_session
        return [
            rows.view(held, pending=pending)
            for held in self._operator.store.scan()
            if held.start < end and start < held.end and key in (ANY, held.key)
        ]

    def get_messages(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
    ) -> list[Record]:
        """Return stored records with a time (over rows, an offset) in [start, end), in key order.

        Raises:
            NoMessageStore: the aggregate stores no records.
        """
        if self._without_messages is not None:
            raise NoMessageStore(self._without_messages)
        by_offset = self._operator.parts.in_offsets
        return [
            record
            for record in self._operator.parts.messages()
            if start <= (record.offset if by_offset else record.ts) < end
            and key in (ANY, record.key)
        ]


_PLAIN = KeyOrder()


class WindowJoin(StandaloneOperator[Pair, JoinOperator]):
    """A join of two streams; without `by_clock`, the sequence of pairs is a function of the log.

    Args:
        flow: the join, with `key` on both sides as the only field for equality.
        lanes: all partitions that are read, each with its side.
        consumer: takes a pair, or refuses it by returning False; None: pairs wait for `get_result`.
        store: holds the checkpoint; by default a new one in memory.
        disorder: what a data record promises.
        by_clock: when each side's records are joined, if by the caller's clock instead of progress;
            the pairs are then not a function of the log.
        key_order: decides the layout of message keys.

    Raises:
        ValueError: the row path does not support the flow.
    """

    def __init__(
        self,
        flow: JoinFlow,
        lanes: Sequence[LaneStart],
        consumer: Callable[[Pair], bool] | None = None,
        store: StateStore | None = None,
        *,
        disorder: Slack | Punctuation = _SORTED,
        by_clock: Mapping[Side, Deliveries] | None = None,
        key_order: KeyOrder = _PLAIN,
    ) -> None:
        check_join(flow, lanes, by_clock=by_clock is not None)
        self._by_offset = flow.axis == "rows"
        make = partial(JoinOperator, flow, by_clock=by_clock, key_order=key_order)
        super().__init__(flow, lanes, disorder, make, consumer=consumer, store=store)

    def get_messages(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
        side: Side | None = None,
    ) -> list[Record]:
        """Return the stored records of a side, or both, with a time (or offset) in [start, end)."""
        sides = SIDES if side is None else (side,)
        found = chain.from_iterable(self._operator.messages[one].all() for one in sides)
        return [
            joined.record
            for _, joined in found
            if start <= (joined.record.offset if self._by_offset else joined.record.ts) < end
            and key in (ANY, joined.record.key)
        ]

    @property
    def message_layout(self) -> keys.Layout:
        """The chosen layout of message keys."""
        return self._operator.layout
