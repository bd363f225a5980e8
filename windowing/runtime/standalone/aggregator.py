"""`WindowedAggregator`: windows and sessions in any Python program, without Spark and Kafka."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from windowing.engine.rows.flows.partial import is_holistic
from windowing.engine.rows.flows.sessions import SessionOperator
from windowing.engine.rows.flows.windows import WindowOperator
from windowing.engine.storage.state import StateStore
from windowing.model.flow import LaneStart, Periods, StreamFlow
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Progress, Record, WindowRow, WindowView
from windowing.runtime.standalone.errors import NoMessageStore
from windowing.runtime.standalone.rules import check_stream
from windowing.runtime.standalone.shell import StandaloneOperator


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
