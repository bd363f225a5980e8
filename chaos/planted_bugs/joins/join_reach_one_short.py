"""A join whose windows end one instant before the distance that they allow, looking back.

Defect: `<` for `<=`: a right record exactly a window before a left one is not a partner.
How one gets it: half-open windows everywhere else.
Expected: pairs are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart


class ShortShardPart(JoinShardPart):
    """Looks one microsecond less far back."""

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
