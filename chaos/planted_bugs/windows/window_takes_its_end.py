"""Windows that include their end and exclude their start.

Defect: `start < ts <= end` instead of `start <= ts < end`.
How one gets it: some systems have windows that are closed at the end.
Expected: windows hold other records.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span


class ClosedLanePart(SlidingLanePart):
    """Assigns each record as if it were a little earlier."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        return super()._spans(replace(scan, values=scan.values - 1))


BUG = planted_bug(
    planted("window_takes_its_end", ClosedLanePart),
    # A record at the end of a window before a gap counts as applied.
    *("deterministic", "conservation"),
    shows_in=some_query(sliding),
)
