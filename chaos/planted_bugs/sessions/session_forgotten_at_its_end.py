"""Sessions that are dropped once they have ended, although late records may still join them.

Defect: compaction asks for the end, and not for the end, another gap, and the retention.
How one gets it: state that is purged when its window has fired.
Expected: a late record makes a session of its own, with other bounds and other revisions.
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
    """Keeps what is open."""

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
