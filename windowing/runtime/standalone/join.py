"""`WindowJoin`: the join of two streams in any Python program."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import chain

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.joins import SIDES, JoinOperator
from windowing.engine.state import StateStore
from windowing.model.join import Side
from windowing.model.operator import JoinSpec
from windowing.model.record import Pair, Progress, Record
from windowing.runtime.standalone.aggregator import ANY, AnyKey
from windowing.runtime.standalone.shell import StandaloneOperator


class WindowJoin(StandaloneOperator[Pair, JoinOperator]):
    """Joins two streams; with `clock: progress` the sequence of pairs is a function of the log.

    Args:
        spec: what is joined.
        consumer: takes a pair, or refuses it by returning False; None: pairs wait for `get_result`.
        store: holds the checkpoint; by default a new one in memory.
    """

    def __init__(
        self,
        spec: JoinSpec,
        consumer: Callable[[Pair], bool] | None = None,
        store: StateStore | None = None,
    ) -> None:
        self._by_offset = spec.axis == "rows"
        ports = {lane.name: int(lane.side == "right") for lane in spec.lanes}
        super().__init__(spec, partial(JoinOperator, spec), consumer, store, ports)

    def get_messages(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
        side: Side | None = None,
    ) -> list[Record]:
        """The stored records of a side, or both, with a time – or offset – in [start, end)."""
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
        """The layout of the message keys that the planner has chosen."""
        return self._operator.layout
