"""Shared slices that are dropped when the first query no longer needs them.

Defect: a slice is kept until the window of the shortest slide that holds it has ended.
How one gets it: the family is purged by the rule of one query, the first.
Expected: longer windows lack records.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import shares_slices
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import AT
from windowing.engine.families.shard_part import FamilyShardPart
from windowing.engine.wids import Ints


class HurriedShardPart(FamilyShardPart):
    """Purges by its first member."""

    def _until(self, table: pl.DataFrame) -> Ints:
        first = self._family.grids.some(slice(0, 1))
        until: Ints = first.ends(first.last(table[AT].to_numpy()))[0] + self._past_end
        return until


BUG = planted_bug(
    planted("kept_for_the_shortest", HurriedShardPart, shared=True),
    "deterministic",
    "closing",
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
