"""Windows that records define, except for late records, which define none.

Defect: a late record counts where there is a window, and makes none.
How one gets it: windows are made in the path of what is on time.
Expected: late revisions are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import defined, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.by_record import DEFINERS, AtRecordsLanePart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding import Span


class PunctualLanePart(AtRecordsLanePart):
    """Has definers on time alone."""

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        return super()._tables(scan, spans) | {DEFINERS: super()._tables(scan, spans[:1])[DEFINERS]}


BUG = planted_bug(
    planted("late_record_defines_none", PunctualLanePart),
    "deterministic",
    shows_in=some_query(defined, updates),
)
