"""Windows that only on-time records define.

Defect: a late record enters existing windows but defines no new one.
How one gets it: windows are created on the on-time path only.
Expected: late revisions are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import defined, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.by_record import DEFINERS, AtRecordsLanePart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding_lane import Span


class PunctualLanePart(AtRecordsLanePart):
    """Lets only on-time records define windows."""

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        return super()._tables(scan, spans) | {DEFINERS: super()._tables(scan, spans[:1])[DEFINERS]}


BUG = planted_bug(
    planted("late_record_defines_none", PunctualLanePart),
    "deterministic",
    shows_in=some_query(defined, updates),
)
