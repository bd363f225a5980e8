"""Records that are a dead letter as soon as one of their windows refuses them.

Defect: a record that some window takes is reported as late all the same.
How one gets it: lateness is reported where it is found, window by window.
Expected: dead letters that the definition does not have.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import dead_letters as to_dead_letters
from chaos.planted_bugs.conditions import overlapping, sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.windows.assign.assigner import dead_letters
from windowing.engine.windows.assign.sliding import SlidingAssigner
from windowing.engine.windows.part import Assigned, Scan


class ReportingAssigner(SlidingAssigner):
    """Reports every record that is late for anything."""

    def assign(self, scan: Scan) -> Assigned:  # noqa: D102
        assigned = super().assign(scan)
        outside, _ = self._spans(scan)
        first = wids.first_window(self._query.window, scan.values)
        late = ~outside & (wids.slide_of(self._grid, scan.progress_us) > first)
        letters = dead_letters(self._query, scan.data, late, scan.partition)
        both = pl.concat([assigned.dead, letters]).unique("offset", maintain_order=True)
        return replace(assigned, dead=both)


BUG = planted_bug(
    planted("partly_late_is_dead", ReportingAssigner),
    "dead letters",
    shows_in=some_query(sliding, overlapping, to_dead_letters),
)
