"""Trigger counters that outlive the eviction of their partition.

Defect: an evicted partition that comes back goes on counting where it was.
How one gets it: counters are kept beside the partitions, for the sake of time evictions.
Expected: reports come too early.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.model.operators.steps import AggregateStep
from windowing.model.windows.policy import Count, PartitionAge, PartitionCount, TupleCount


class CountingWindow(SlidingWindow):
    """A sliding window that never forgets a counter."""

    def _give_up(self, key: Key) -> None:
        marks = self._marks.get(key)
        super()._give_up(key)
        if marks is not None:
            marks.full = False
            self._marks[key] = marks


BUG = planted_bug(
    planted(
        "counter_survives_its_partition",
        names={"windowing.engine.rows.operators.clause:SlidingWindow": CountingWindow},
    ),
    "deterministic",
    shows_in=some_operators(
        with_window(
            "sliding",
            trigger=(Count,),
            partitions=(PartitionCount, TupleCount, PartitionAge),
            step=(AggregateStep,),
        )
    ),
)
