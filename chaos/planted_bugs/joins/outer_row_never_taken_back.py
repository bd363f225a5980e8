"""An outer join that keeps an unmatched row when a late partner comes.

Defect: no row is retracted.
How one gets it: outer rows are final once the watermark has passed, but late pairs are emitted.
Expected: rows with `op: retract` are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import outer, some_join, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart, _Moved
from windowing.model.join import Side


class StubbornShardPart(JoinShardPart):
    """Retracts nothing."""

    def _alone(self, side: Side, moved: _Moved, pairs: pl.DataFrame) -> list[pl.DataFrame]:
        sent: Sequence[pl.DataFrame] = super()._alone(side, moved, pairs)
        return [sent[0]]


BUG = planted_bug(
    planted("outer_row_never_taken_back", StubbornShardPart),
    "deterministic",
    shows_in=some_join(outer, updates),
)
