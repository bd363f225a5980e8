"""Records in the gaps between windows that are treated as late.

Defect: a record without a window is late.
How one gets it: one counter for "not added to any window".
Expected: dead letters or drops that the definition counts as outside.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span
from windowing.model.file.pipeline import Pipeline, Query


def with_gaps(_: Pipeline, query: Query) -> bool:
    """Whether the slide is longer than the range."""
    return query.window.range_ is not None and query.window.slide > query.window.range_


class SweepingLanePart(SlidingLanePart):
    """Treats records in gaps as late."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        _, spans = super()._spans(scan)
        return self._numbering.outside(scan.values), spans


BUG = planted_bug(
    planted("gap_is_late", SweepingLanePart),
    "conservation",
    "dead letters",
    shows_in=some_query(sliding, with_gaps),
)
