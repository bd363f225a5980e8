"""Windows that accept a late record exactly a retention after their end.

Defect: rejected iff `P > end + retention`, not `P >= end + retention`.
How one gets it: one character.
Expected: late revisions that the definition does not have, in place of dead letters.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.wids import Ints
from windowing.engine.windows.sliding_lane import Opened, SlidingLanePart


class KeepingLanePart(SlidingLanePart):
    """Keeps a window one microsecond longer."""

    def _opened(self, progress_us: Ints) -> Opened:
        longer = wids.lowered(progress_us, (self._query.retention_us or 0) + 1)
        return replace(super()._opened(progress_us), kept=self._numbering.open_from(longer))


BUG = planted_bug(
    planted("retention_edge_kept", KeepingLanePart),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=some_query(sliding, updates),
)
