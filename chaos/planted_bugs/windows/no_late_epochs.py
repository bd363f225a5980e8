"""A late record that is released at the current progress, not at the end of its epoch.

Defect: the epoch is one too early, and already past where the stream is ahead.
How one gets it: `x div T` instead of `x div T + 1`, or late firings "as soon as it comes".
Expected: late revisions are missing, too many, or too early.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.sliding import SlidingLanePart


class ImpatientLanePart(SlidingLanePart):
    """Releases late records at once."""

    def _waiting(self, progress_us: Ints, first: Ints, last_late: Ints) -> tuple[Flags, Ints, Ints]:
        waits, first_late, _ = super()._waiting(progress_us, first, last_late)
        return waits, first_late, progress_us


BUG = planted_bug(
    planted("no_late_epochs", ImpatientLanePart),
    "deterministic",
    "closing",
    "no error",
    shows_in=some_query(sliding, updates),
)
