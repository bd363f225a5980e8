"""Sessions that vanish without a tombstone when another one absorbs them.

Defect: an emitted start that has vanished gets no tombstone.
How one gets it: merging in state without output downstream.
Expected: tombstones are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session import SessionShardPart


class SilentShardPart(SessionShardPart):
    """Merges without emitting tombstones."""

    def _tombstones(
        self, gone: pl.DataFrame, pieces: pl.DataFrame, rows: pl.DataFrame
    ) -> pl.DataFrame:
        return super()._tombstones(gone, pieces, rows).clear()


BUG = planted_bug(
    planted("session_without_tombstone", SilentShardPart),
    "deterministic",
    shows_in=some_query(session, updates),
)
