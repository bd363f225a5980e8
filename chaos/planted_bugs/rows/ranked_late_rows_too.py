"""Rows in order of time whose numbering includes late rows.

Defect: late rows are not left out.
How one gets it: a rank over everything stored.
Expected: all following rows get other numbers; counts and dead letters differ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import ranked_rows, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import NOTHING_YET, Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.rows import RankedLanePart
from windowing.engine.windows.sliding_lane import Span


class WelcomingLanePart(RankedLanePart):
    """Treats no row as late."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        return super()._spans(
            replace(scan, progress_us=np.full_like(scan.progress_us, NOTHING_YET))
        )


BUG = planted_bug(
    planted("ranked_late_rows_too", WelcomingLanePart),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(ranked_rows),
)
