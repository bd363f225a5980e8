"""A late record that is released at the current progress, not at the end of its epoch.

Defect: the epoch is one too early, and already past where the stream is ahead.
How one gets it: `x div T` instead of `x div T + 1`, or late firings "as soon as it comes".
Expected: late revisions are missing, too many, or too early.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Ints
from windowing.engine.windows.sliding_lane import Opened, SlidingLanePart


class ImpatientLanePart(SlidingLanePart):
    """Releases late records at once."""

    def _opened(self, progress_us: Ints) -> Opened:
        return replace(super()._opened(progress_us), release=progress_us)


BUG = planted_bug(
    planted("no_late_epochs", ImpatientLanePart),
    "deterministic",
    "closing",
    "no error",
    shows_in=some_query(sliding, updates),
)
