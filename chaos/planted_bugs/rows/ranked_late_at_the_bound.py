"""A row exactly at its lane's progress gets no number.

Defect: `P >= ts` for `P > ts`.
How one gets it: a bound that is read as "up to and with".
Expected: rows are missing from windows, and are counted as late.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, ranked_rows
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.rows import RankedLanePart
from windowing.engine.windows.sliding import Span


class StrictLanePart(RankedLanePart):
    """Sees such a row with a progress that is one too far."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        late = scan.progress_us == scan.values
        return super()._spans(replace(scan, progress_us=scan.progress_us + late))


GUILTY = guilty(
    planted("ranked_late_at_the_bound", StrictLanePart),
    "deterministic",
    "conservation",
    "dead letters",
    lair=lair(ranked_rows),
)
