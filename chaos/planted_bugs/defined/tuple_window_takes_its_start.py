"""Windows defined by records that include their start.

Defect: `w - R <= a` instead of `w - R < a`.
How one gets it: other classes have half-open windows, but open at the other end.
Expected: windows hold more than the definition's.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import defined, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.by_record import AtRecordsLanePart
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import Span


class ClosedLanePart(AtRecordsLanePart):
    """Keeps a record for one position too long."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        return outside, [replace(on_time, last=on_time.last + 1), *late]


BUG = planted_bug(
    planted("tuple_window_takes_its_start", ClosedLanePart),
    "deterministic",
    shows_in=some_query(defined),
)
