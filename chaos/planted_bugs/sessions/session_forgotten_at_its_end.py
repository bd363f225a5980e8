"""Sessions are let go once they have ended, although late records may still join them.

Defect: compaction asks for the end, and not for the end, another gap, and the retention.
How one gets it: state that is purged when its window has fired.
Expected: a late record makes a session of its own, with other bounds and other revisions.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, session, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.chains import CHAIN, end
from windowing.engine.windows.part import Tables
from windowing.engine.windows.session import PIECES, SessionShardPart
from windowing.engine.windows.stamps import stamped


class TidyShardPart(SessionShardPart):
    """Keeps what is open."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        pieces = stamped(self._chained(tables), after=after)
        open_ = pl.max_horizontal(end(), "release").max().over(CHAIN) > pl.col("after")
        kept = pieces.filter(open_).select(tables[PIECES].columns)
        return super().retained({PIECES: kept}, after)


GUILTY = guilty(
    planted("session_forgotten_at_its_end", TidyShardPart),
    "deterministic",
    lair=lair(session, updates),
)
