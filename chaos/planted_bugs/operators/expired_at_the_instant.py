"""Tuples that leave a window by time as soon as their time is up.

Defect: evictions by time happen before the reports and tuples of the same instant.
How one gets it: `now - arrival >= period`.
Expected: reports at multiples of the period miss the oldest tuple.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.engine.rows.policies.window import Due
from windowing.model.windows.policy import Time


class PunctualWindow(SlidingWindow):
    """A sliding window that evicts by time before anything else."""

    def next_due(self) -> Due | None:
        """Return what is due next, evictions first."""
        due, earliest = super().next_due(), self._deadlines.earliest()
        if due is None or earliest is None or earliest[0] > due[0]:
            return due
        due_us, key = earliest
        return due_us, True, lambda: self._outlive(key, due_us)


BUG = planted_bug(
    planted(
        "expired_at_the_instant",
        names={"windowing.engine.rows.operators.clause:SlidingWindow": PunctualWindow},
    ),
    "deterministic",
    shows_in=some_operators(with_window("sliding", eviction=(Time,))),
)
