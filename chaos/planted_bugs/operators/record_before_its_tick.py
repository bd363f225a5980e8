"""Records that enter a window before what was due by then is done.

Defect: the clock moves on to a record's time, but timers fire only after the record.
How one gets it: timers are looked at once per loop, at its end.
Expected: reports by time hold records of later periods.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.hosted import UnitHost
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.rows.stages import Stage
from windowing.engine.rows.tuples import RecordTuple
from windowing.model.windows.policy import Time


class LateStage(Stage):
    """A stage whose tuples precede its timers."""

    def insert(self, row: Tuple, now_us: int) -> None:
        """Process a tuple at an instant, then what was due before it."""
        super().insert(row, self._clock.now_us)
        self.tick(now_us)


class LateHost(UnitHost):
    """A unit whose clock follows its records."""

    def feed(self, rows: Iterable[RecordTuple], at_us: Iterable[int]) -> None:
        """Process each record before what was due."""
        for row, us in zip(rows, at_us, strict=True):
            self.clock_us = max(self.clock_us, us)
            self._stages[0].insert(row, self.clock_us)


BUG = planted_bug(
    planted(
        "record_before_its_tick",
        names={
            "windowing.engine.rows.hosted:Stage": LateStage,
            "windowing.engine.rows.units:UnitHost": LateHost,
        },
    ),
    "deterministic",
    shows_in=some_operators(with_window("sliding", trigger=(Time,))),
)
