"""Compaction that merges waiting pieces of a session with released ones.

Defect: the merge loses a late record's release.
How one gets it: merging "what belongs together" too early.
Expected: records are in an earlier revision than the definition says.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import RELEASE
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ON_TIME
from windowing.engine.windows.part import Tables
from windowing.engine.windows.session import PIECES, SessionShardPart


class MeltingShardPart(SessionShardPart):
    """Releases every piece when it is compacted."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        pieces = tables[PIECES].with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))
        return super().retained({PIECES: pieces}, after)


BUG = planted_bug(
    planted("session_merged_across_releases", MeltingShardPart),
    "deterministic",
    shows_in=some_query(session, updates),
)
