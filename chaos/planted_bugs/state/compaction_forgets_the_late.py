"""Compaction that keeps on-time records, but not those that wait for their epoch.

Defect: late records not yet emitted are lost with their deltas.
How one gets it: late records were implemented after compaction.
Expected: late revisions are missing.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS


class PunctualShardPart(SlidingShardPart):
    """Keeps on-time records only."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        return super().retained({PARTIALS: tables[PARTIALS].filter(~LATE)}, after)


BUG = planted_bug(
    planted("compaction_forgets_the_late", PunctualShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
