"""`WindowJoin`: the join of two streams in any Python program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.joins import SIDES, JoinOperator
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart
from windowing.model.join import Side
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Pair, Progress, Record
from windowing.runtime.standalone.aggregator import ANY, AnyKey
from windowing.runtime.standalone.rules import check_join
from windowing.runtime.standalone.shell import StandaloneOperator

_SORTED = Slack(0)
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
