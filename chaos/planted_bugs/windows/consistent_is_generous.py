"""Consistent mode that behaves like generous mode.

Defect: a record that is late for one of its windows counts in the others.
How one gets it: lateness is judged per window, as in most engines; the mode is ignored.
Expected: windows hold records that the definition leaves out.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import consistent, overlapping, sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span


class GenerousLanePart(SlidingLanePart):
    """Ignores the mode and is always generous."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        generous = self._query.late.model_copy(update={"mode": "generous"})
        self._query = self._query.model_copy(update={"late": generous})
        return super()._spans(scan)


BUG = planted_bug(
    planted("consistent_is_generous", GenerousLanePart),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(sliding, overlapping, consistent),
)
