"""Windows that accept a record although its lane's progress is exactly at their end.

Defect: late iff `P > end` instead of `P >= end`.
How one gets it: one character.
Expected: revision 0 has records that are late by the definition.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import ENDED, NOTHING_YET, Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span


class LenientLanePart(SlidingLanePart):
    """Judges lateness by a progress one microsecond too low."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        known = (scan.progress_us != NOTHING_YET) & (scan.progress_us != ENDED)
        return super()._spans(replace(scan, progress_us=scan.progress_us - known))


BUG = planted_bug(
    planted("late_at_the_end_exactly", LenientLanePart),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(sliding),
)
