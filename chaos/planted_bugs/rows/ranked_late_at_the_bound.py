"""A row exactly at its lane's progress gets no number.

Defect: `P >= ts` instead of `P > ts`.
How one gets it: a bound read as inclusive.
Expected: rows are missing from windows and counted as late.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import ranked_rows, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.rows import RankedLanePart
from windowing.engine.windows.sliding_lane import Span


class StrictLanePart(RankedLanePart):
    """Judges such a row by a progress that is one too high."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        late = scan.progress_us == scan.values
        return super()._spans(replace(scan, progress_us=scan.progress_us + late))


BUG = planted_bug(
    planted("ranked_late_at_the_bound", StrictLanePart),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(ranked_rows),
)
