"""Sessions that are dropped once they have ended, although late records may still join them.

Defect: compaction drops at the end, not at the end plus a gap plus the retention.
How one gets it: purging state when its window fires.
Expected: a late record starts its own session, with other bounds and revisions.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AFTER, CHAIN, RELEASE
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.chains import end
from windowing.engine.windows.part import Tables
from windowing.engine.windows.session import PIECES, SessionShardPart
from windowing.engine.windows.stamps import stamped


class TidyShardPart(SessionShardPart):
    """Keeps open sessions only."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        pieces = stamped(self._chained(tables), after=after)
        open_ = pl.max_horizontal(end(), RELEASE).max().over(CHAIN) > pl.col(AFTER)
        kept = pieces.filter(open_).select(tables[PIECES].columns)
        return super().retained({PIECES: kept}, after)


BUG = planted_bug(
    planted("session_forgotten_at_its_end", TidyShardPart),
    "deterministic",
    shows_in=some_query(session, updates),
)
