"""Shared slices that do not know from which window end on their late records count.

Defect: a record that is late for the short windows of a family counts in them, if it is on time for
the long ones.
How one gets it: slices are keyed by their place alone, as for one query without disorder.
Expected: closed windows of other queries get records, or get them twice.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import shares_slices
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.families.cells import Cells
from windowing.engine.families.lane_part import FamilyLanePart, Found
from windowing.engine.wids import Ints


class ForgivingLanePart(FamilyLanePart):
    """Takes every record as on time."""

    def _reached(self, cells: Cells, release: Ints, progress_us: int | Ints) -> Found:
        del progress_us
        return Found(cells, release)


BUG = planted_bug(
    planted("late_for_one_is_late_for_none", ForgivingLanePart, shared=True),
    "deterministic",
    "conservation",
    "closing",
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
