"""Records that become dead letters as soon as one of their windows rejects them.

Defect: a record that another window accepts is still reported as late.
How one gets it: lateness is reported per window.
Expected: dead letters that the definition does not have.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import dead_letters as to_dead_letters
from chaos.planted_bugs.conditions import overlapping, sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import OFFSET
from windowing.engine.windows.part import Assigned, Scan
from windowing.engine.windows.refused import dead_letters
from windowing.engine.windows.sliding_lane import SlidingLanePart


class ReportingLanePart(SlidingLanePart):
    """Reports every record that is late for any window."""

    def assign(self, scan: Scan) -> Assigned:  # noqa: D102
        assigned = super().assign(scan)
        outside, _ = self._spans(scan)
        first = self._numbering.first(scan.values)
        late = ~outside & (self._numbering.open_from(scan.progress_us) > first)
        letters = dead_letters(self._query, scan.data, late, scan.partition)
        both = pl.concat([assigned.dead, letters]).unique(OFFSET, maintain_order=True)
        return replace(assigned, dead=both)


BUG = planted_bug(
    planted("partly_late_is_dead", ReportingLanePart),
    "dead letters",
    shows_in=some_query(sliding, overlapping, to_dead_letters),
)
