"""Partitions that a tick of the trigger renews, as if a tuple had come.

Defect: every report makes its partition the most recently updated.
How one gets it: the access order of a cache, which reads renew too.
Expected: partitions without tuples never become too old.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.sliding import SlidingWindow
from windowing.model.windows.policy import PartitionAge, Time


class RenewingWindow(SlidingWindow):
    """A sliding window whose ticks renew all partitions."""

    def _tick(self) -> None:
        super()._tick()
        for key in self._partitions.updated_us:
            self._partitions.updated_us[key] = self._clock.now_us


BUG = planted_bug(
    planted(
        "ticks_renew_partitions",
        names={"windowing.engine.rows.operators.clause:SlidingWindow": RenewingWindow},
    ),
    "deterministic",
    shows_in=some_operators(
        with_window("sliding", trigger=(Time,), partitions=(PartitionAge,)),
    ),
)
