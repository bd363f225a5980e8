"""Sessions whose retention counts from the record, not from the session's end.

Defect: the gap is missing in `ts + gap + retention`.
How one gets it: the rule of other window classes, whose ends lie on a grid.
Expected: dead letters in place of late revisions.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.wids import Flags
from windowing.engine.windows.part import Scan
from windowing.engine.windows.session import SessionLanePart
from windowing.engine.windows.sliding_lane import Span


class ShortLanePart(SessionLanePart):
    """Keeps a record for the retention alone."""

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        kept = wids.lowered(scan.progress_us, self._query.retention_us or 0) < scan.values
        return outside, [on_time, *(replace(span, chosen=span.chosen & kept) for span in late)]


BUG = planted_bug(
    planted("session_retention_without_gap", ShortLanePart),
    "dead letters",
    "conservation",
    shows_in=some_query(session, updates),
)
