"""Compaction that keeps what was on time, and not what waits for its epoch.

Defect: late records that have not been shown yet are lost with their deltas.
How one gets it: late records came after compaction was written.
Expected: late revisions are missing.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, PARTIALS, SlidingShardPart


class PunctualShardPart(SlidingShardPart):
    """Keeps what was on time."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        return super().retained({PARTIALS: tables[PARTIALS].filter(~LATE)}, after)


BUG = planted_bug(
    planted("compaction_forgets_the_late", PunctualShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
