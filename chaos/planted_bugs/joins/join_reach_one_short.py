"""A join whose windows reach back one instant too little.

Defect: `<` instead of `<=`: a right record exactly a window before a left one does not match.
How one gets it: windows are half-open everywhere else.
Expected: pairs are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart


class ShortShardPart(JoinShardPart):
    """Looks back one microsecond less."""

    def _bounds(self) -> list[pl.Expr]:
        true = self._reach
        if true["right"] is None:
            return super()._bounds()
        self._reach = {**true, "right": true["right"] - 1}
        try:
            return super()._bounds()
        finally:
            self._reach = true


BUG = planted_bug(
    planted("join_reach_one_short", ShortShardPart), "deterministic", shows_in=some_join()
)
