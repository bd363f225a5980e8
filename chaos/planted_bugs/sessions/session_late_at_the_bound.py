"""A record exactly at its lane's progress is late for its session.

Defect: `P >= ts` instead of `P > ts`; a bound promises nothing about records equal to it.
How one gets it: one character, and a bound read as inclusive.
Expected: on-time records are treated as late: other revisions, or dead letters.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import NOTHING_YET, Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.session import SessionLanePart
from windowing.engine.windows.sliding_lane import Span


class StrictLanePart(SessionLanePart):
    """Judges every record by a progress that is one too high."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        late = (scan.progress_us == scan.values) & (scan.values > NOTHING_YET)
        return super()._spans(replace(scan, progress_us=scan.progress_us + late))


BUG = planted_bug(
    planted("session_late_at_the_bound", StrictLanePart),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=some_query(session),
)
