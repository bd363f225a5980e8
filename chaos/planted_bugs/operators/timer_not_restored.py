"""Timers that start again with every batch.

Defect: a restored operator's timer counts from the unit's first record again.
How one gets it: the paper's checkpoint, which does not save the phase of timers.
Expected: reports by time are sent again.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.stages import Stage
from windowing.model.windows.policy import Time


class ForgetfulStage(Stage):
    """A stage whose timers are not restored."""

    def restore(self, snapshot: dict[str, Any], now_us: int) -> None:
        """Restore all state except for timers."""
        self._clock.now_us = now_us
        self._operator.restore(snapshot)


BUG = planted_bug(
    planted("timer_not_restored", names={"windowing.engine.rows.hosted:Stage": ForgetfulStage}),
    *("deterministic", "exactly once"),
    shows_in=some_operators(with_window("sliding", trigger=(Time,))),
)
