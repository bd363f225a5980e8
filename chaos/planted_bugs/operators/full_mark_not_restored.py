"""An Aggregate that forgets over a restart which windows were full.

Defect: the marks of partitions that were once full are not restored.
How one gets it: they belong to the operator, and only its window's state is saved.
Expected: reports that follow are suppressed as partial ones.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, whole_windows_only
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.operators import Aggregate


class ForgetfulAggregate(Aggregate):
    """An Aggregate without marks after a restart."""

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore the window alone."""
        super().restore({**snapshot, "full": []}, timers=timers)


BUG = planted_bug(
    planted(
        "full_mark_not_restored",
        names={"windowing.engine.rows.stages:Aggregate": ForgetfulAggregate},
    ),
    "deterministic",
    shows_in=some_operators(whole_windows_only),
)
