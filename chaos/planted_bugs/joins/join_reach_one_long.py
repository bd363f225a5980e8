"""A join whose windows reach one instant too far ahead.

Defect: a right record one instant beyond the left record's window matches.
How one gets it: `window + 1`, as for the instant at which a record is alone.
Expected: pairs that the definition does not have.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart


class LongShardPart(JoinShardPart):
    """Looks one microsecond further ahead."""

    def _bounds(self) -> list[pl.Expr]:
        true = self._reach
        if true["left"] is None:
            return super()._bounds()
        self._reach = {**true, "left": true["left"] + 1}
        try:
            return super()._bounds()
        finally:
            self._reach = true


BUG = planted_bug(
    planted("join_reach_one_long", LongShardPart), "deterministic", shows_in=some_join()
)
