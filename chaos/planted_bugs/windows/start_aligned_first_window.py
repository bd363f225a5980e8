"""Start-aligned windows that begin with the origin, as end-aligned ones do.

Defect: records before the origin are outside, though windows begin at origin + k S for every k.
How one gets it: one rule for both alignments.
Expected: records are missing from windows, and counted as outside.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Grid, Ints
from windowing.model.file.pipeline import Pipeline, Query


def aligned_by_start(_: Pipeline, query: Query) -> bool:
    """Whether windows begin at origin + k S."""
    return query.window.align == "start"


class ClippedGrid(Grid):
    """Has no window before the origin."""

    def outside(self, values: Ints) -> Flags:  # noqa: D102
        if self.least is not None or self.range_ is None:
            return super().outside(values)
        return values < self.origin + self.slide - self.range_


BUG = planted_bug(
    planted("start_aligned_first_window", ClippedGrid),
    "conservation",
    "deterministic",
    shows_in=some_query(sliding, aligned_by_start),
)
