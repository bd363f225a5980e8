"""Discarding windows that show everything in every revision.

Defect: `discarding` is read as `accumulating`.
How one gets it: the policy is parsed, stored, and never read.
Expected: later rows hold more than the new records.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import discarding, sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.sliding import _EVER, SlidingShardPart


class KeepingShardPart(SlidingShardPart):
    """Never discards what was shown."""

    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        return super()._sent(epochs.with_columns(previous=_EVER))


BUG = planted_bug(
    planted("discarding_shows_all", KeepingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates, discarding),
)
