"""`WindowedAggregator`: windows and sessions in any Python program, without Spark and Kafka."""

from __future__ import annotations

import math
from collections.abc import Callable

from windowing.engine.state import StateStore
from windowing.model.operator import AggregatorSpec, RowSessions, TimeSessions
from windowing.model.operator_rows import Progress, Record, WindowRow, WindowView
from windowing.operators.sessions import SessionsBody
from windowing.operators.shell import Operator
from windowing.operators.windows import WindowsBody


class AnyKey:
    """That a query asks for every key; None is a key like any other."""


ANY = AnyKey()


class WindowedAggregator(Operator[WindowRow, WindowsBody | SessionsBody]):
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
        self._by_session = isinstance(spec.windows, TimeSessions | RowSessions)
        kind = SessionsBody if self._by_session else WindowsBody
        super().__init__(spec, lambda state: kind(spec, state), consumer, store)

    def get_windows(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
    ) -> list[WindowView]:
        """The stored windows that overlap [start, end), by start and key; sessions by key first."""
        emission, pending = self._body.parts.emission, not self._by_session
        return [
            emission.view(held, pending=pending)
            for held in self._body.store.scan()
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
        by_offset = self._body.parts.in_offsets
        return [
            record
            for record in self._body.parts.messages()
            if start <= (record.offset if by_offset else record.ts) < end
            and key in (ANY, record.key)
        ]

    @property
    def held_back(self) -> int:
        """How many accepted records have not entered a result, once for every window."""
        return self._body.held_back()
