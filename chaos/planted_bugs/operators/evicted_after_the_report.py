"""Tuples that a report still shows although a new one has displaced them.

Defect: under deltas, a sliding window evicts after its report and not before.
How one gets it: a window is tidied once the operator has seen it.
Expected: reports hold tuples that are too far from the newest one.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.model.operators.steps import AggregateStep, UserStep
from windowing.model.windows.policy import Count, Delta, Policy


class TidyingWindow(SlidingWindow):
    """A sliding window that evicts by deltas as the last thing of an insert."""

    def __init__(self, eviction: Policy, trigger: Policy, **more: Any) -> None:
        super().__init__(eviction, trigger, **more)
        if isinstance(eviction, Delta) and isinstance(trigger, Count):
            self._steps = [self._fill, self._take, self._report, self._evict]
            self._inserted_at = 1


BUG = planted_bug(
    planted(
        "evicted_after_the_report",
        names={"windowing.engine.rows.operators.clause:SlidingWindow": TidyingWindow},
    ),
    "deterministic",
    shows_in=some_operators(
        with_window("sliding", (Delta,), (Count,), step=(AggregateStep, UserStep))
    ),
)
