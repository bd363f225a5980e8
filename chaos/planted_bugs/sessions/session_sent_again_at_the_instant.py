"""A session that was sent at just the progress where a batch has ended is sent again by the next.

Defect: the instants of a batch begin with the progress before it, and not behind that.
How one gets it: `>=` where the interval is open.
Expected: rows stand twice, where the same chain still has something to show.
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
    """Begins a moment early."""

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
