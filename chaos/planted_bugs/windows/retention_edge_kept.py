"""Windows that accept a late record exactly a retention after their end.

Defect: rejected iff `P > end + retention`, not `P >= end + retention`.
How one gets it: one character.
Expected: late revisions that the definition does not have, in place of dead letters.
"""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.sliding import SlidingLanePart


class KeepingLanePart(SlidingLanePart):
    """Keeps a window one microsecond longer."""

    def _waiting(self, progress_us: Ints, first: Ints, last_late: Ints) -> tuple[Flags, Ints, Ints]:
        _, _, release = super()._waiting(progress_us, first, last_late)
        kept = wids.lowered(progress_us, (self._query.retention_us or 0) + 1)
        first_late = np.maximum(first, self._numbering.open_from(kept))
        return first_late <= last_late, first_late, release


BUG = planted_bug(
    planted("retention_edge_kept", KeepingLanePart),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=some_query(sliding, updates),
)
