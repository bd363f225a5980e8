"""An outer join that emits an unmatched row while an on-time partner may still come.

Defect: a record waits until its window's end, but not for records exactly at that end.
How one gets it: `ts + window` instead of the instant after it.
Expected: unmatched rows that the definition does not have, retracted at once.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import outer, some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart
from windowing.model.join import Side


class HastyShardPart(JoinShardPart):
    """Waits one microsecond less."""

    def _due_alone(self, side: Side, prefix: str = "") -> pl.Expr:
        if not self._reach[side]:
            return super()._due_alone(side, prefix)
        due, instant = super()._due_alone(side, prefix), pl.col(f"{prefix}instant")
        return pl.when(due > instant).then(due - 1).otherwise(due)


BUG = planted_bug(
    planted("outer_row_too_early", HastyShardPart),
    "deterministic",
    "closing",
    shows_in=some_join(outer),
)
