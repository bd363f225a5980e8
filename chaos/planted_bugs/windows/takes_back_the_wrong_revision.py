"""Retracting windows whose `op: retract` row has the number of the row that follows.

Defect: a retraction has the new revision, not the one it retracts.
How one gets it: the number is incremented before either row is written.
Expected: retractions have the wrong identity.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import retracting, sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import RETRACTS, REVISION
from windowing.engine.windows.sliding import SlidingShardPart


class ForwardShardPart(SlidingShardPart):
    """Gives both rows the same number."""

    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        sent = super()._sent(epochs)
        if RETRACTS not in sent.columns:
            return sent
        raised = pl.col(REVISION) + pl.col(RETRACTS).cast(pl.Int64)
        return sent.with_columns(raised.alias(REVISION))


BUG = planted_bug(
    planted("takes_back_the_wrong_revision", ForwardShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates, retracting),
)
