"""A late record that joins its session at once, not at its epoch.

Defect: late records are admitted as if they were on time.
How one gets it: "if the session is there, add to it".
Expected: revision 0 has records that the definition shows later, or sessions differ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import ON_TIME, Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.session import SessionLanePart
from windowing.engine.windows.sliding_lane import Span


class OpenLanePart(SessionLanePart):
    """Admits late records at once."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, spans = super()._spans(scan)
        at_once = [replace(s, release=np.full_like(s.release, ON_TIME)) for s in spans]
        return outside, at_once


BUG = planted_bug(
    planted("session_late_record_at_once", OpenLanePart),
    "deterministic",
    shows_in=some_query(session, updates),
)
