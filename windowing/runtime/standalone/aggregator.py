"""`WindowedAggregator`: windows and sessions in any Python program, without Spark and Kafka."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from windowing.engine.rows.flows.sessions import SessionOperator
from windowing.engine.rows.flows.windows import WindowOperator
from windowing.engine.state import StateStore
from windowing.model.operator import AggregatorSpec, RowSessions, TimeSessions
from windowing.model.record import Progress, Record, WindowRow, WindowView
from windowing.runtime.standalone.errors import NoMessageStore
from windowing.runtime.standalone.shell import StandaloneOperator


class AnyKey:
    """That a query asks for every key; None is a key like any other."""


ANY = AnyKey()


class WindowedAggregator(StandaloneOperator[WindowRow, WindowOperator | SessionOperator]):
    """Aggregates per window and key; its full and late rows are a function of the log.

    Args:
        spec: what is computed.
        consumer: takes a row, or refuses it by returning False; None: rows wait for `get_result`.
        store: holds the checkpoint; by default a new one in memory.

    Example:
        >>> from windowing import AggregatorSpec, Bound, LaneSpec, Record, TimeWindows
        >>> spec = AggregatorSpec(
        ...     lanes=(LaneSpec(source="s", partition=0),),
        ...     windows=TimeWindows(size=10, step=10),
        ...     aggregate="sum",
        ... )
        >>> operator = WindowedAggregator(spec)
        >>> _ = operator.add([Record("s/0", 0, ts=3, key="a", value=5), Bound("s/0", 1, 10)], 0)
        >>> [(row.start, row.key, row.pane, row.value) for row in operator.get_result()]
        [(0, 'a', 'full', 5)]
    """

    def __init__(
        self,
        spec: AggregatorSpec,
        consumer: Callable[[WindowRow], bool] | None = None,
        store: StateStore | None = None,
    ) -> None:
        self._without_messages = None if spec.holistic else spec.aggregate
        self._by_session = isinstance(spec.windows, TimeSessions | RowSessions)
        kind = SessionOperator if self._by_session else WindowOperator
        super().__init__(spec, partial(kind, spec), consumer, store)

    def get_windows(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
    ) -> list[WindowView]:
        """The stored windows that overlap [start, end), by start and key; sessions by key first."""
        emission, pending = self._operator.parts.emission, not self._by_session
        return [
            emission.view(held, pending=pending)
            for held in self._operator.store.scan()
            if held.start < end and start < held.end and key in (ANY, held.key)
        ]

    def get_messages(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
    ) -> list[Record]:
        """The stored records with a time – over rows an offset – in [start, end), in key order.

        Raises:
            NoMessageStore: the aggregate keeps none.
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
