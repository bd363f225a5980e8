"""A session emitted at the progress where a batch ended, and again by the next batch.

Defect: the interval of a batch includes the progress before it.
How one gets it: `>=` at the open end of an interval.
Expected: rows occur twice if the chain still has something to emit.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import BEFORE
from windowing.engine.wids import NOTHING_YET
from windowing.engine.windows.session import SessionShardPart


class InclusiveShardPart(SessionShardPart):
    """Starts the interval one instant early."""

    def _shown(self, pieces: pl.DataFrame) -> Iterator[tuple[object, ...]]:
        before = pl.col(BEFORE)
        early = pl.when(before == NOTHING_YET).then(before).otherwise(before - 1)
        return super()._shown(pieces.with_columns(early.alias(BEFORE)))


BUG = planted_bug(
    planted("session_sent_again_at_the_instant", InclusiveShardPart),
    "exactly once",
    "closing",
    shows_in=some_query(session, updates),
)
