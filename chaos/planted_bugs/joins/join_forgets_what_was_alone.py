"""A join that keeps records for the window only, ignoring late partners.

Defect: a late record comes after its partner was dropped.
How one gets it: state is purged at the watermark minus the window.
Expected: late pairs are missing, or rows are not retracted.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AT, INSTANT
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.join import JoinShardPart
from windowing.engine.windows.join_rows import SIDES
from windowing.engine.windows.part import Tables


class TidyShardPart(JoinShardPart):
    """Keeps only records that on-time records can still match."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        kept, until = super().retained(tables, after), int(after.of(tables["left"])[0])
        longest = max((reach or 0 for reach in self._reach.values()), default=0)
        near = pl.max_horizontal(pl.col(AT) + longest, INSTANT) >= until
        return {side: kept[side].filter(near) for side in SIDES}


BUG = planted_bug(
    planted("join_forgets_what_was_alone", TidyShardPart),
    "deterministic",
    shows_in=some_join(updates),
)
