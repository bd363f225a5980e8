"""Slides cut into slices at R mod S from their start instead of from their end.

Defect: records that belong to one window more or less are on the wrong side of the cut.
How one gets it: the slicing of an engine that aligns starts, in one that aligns ends.
Expected: windows hold other records where S does not divide R.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span
from windowing.model.file.pipeline import Pipeline, Query


def undivided(_: Pipeline, query: Query) -> bool:
    """Whether the slide does not divide the range."""
    window = query.window
    return window.range_ is not None and 0 < 2 * (window.range_ % window.slide) != window.slide


class StartLanePart(SlidingLanePart):
    """Cuts a slide into slices at the wrong place."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        grid = wids.grid(self._query.window)
        slide, rest = grid.slide, (grid.range_ or 0) % grid.slide
        within = (scan.values - grid.origin) % slide
        right, wrong = within >= slide - rest, within >= rest
        shifted = on_time.last + wrong.astype(np.int64) - right
        return outside, [replace(on_time, last=np.maximum(shifted, on_time.first)), *late]


BUG = planted_bug(
    planted("slices_cut_from_the_start", StartLanePart),
    "deterministic",
    shows_in=some_query(sliding, undivided),
)
