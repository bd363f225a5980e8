"""A join that finds the pairs of two new records from both sides.

Defect: new left against all right, and all left against new right: pairs of two new
records come out twice.
How one gets it: symmetric hash joins that insert both sides before they probe.
Expected: an identity occurs twice.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart, _Moved


class SymmetricShardPart(JoinShardPart):
    """Probes from both sides."""

    def _new_pairs(self, moved: _Moved) -> pl.DataFrame:
        again = self._match(moved.new("left"), moved.new("right"))
        return pl.concat([super()._new_pairs(moved), again])


BUG = planted_bug(
    planted("join_pairs_twice", SymmetricShardPart), "exactly once", shows_in=some_join()
)
