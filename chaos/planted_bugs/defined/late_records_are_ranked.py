"""Slide by n in rank order that also ranks late records.

Defect: a record that came after its position had closed still counts there.
How one gets it: ranks computed over everything stored.
Expected: other windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_rank, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.by_record import DEFINERS, AtRecordsLanePart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding_lane import Span


class RankingLanePart(AtRecordsLanePart):
    """Ranks every record that enters any window."""

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        all_ = [replace(span, first=scan.values) for span in spans]
        return super()._tables(scan, spans) | {DEFINERS: super()._tables(scan, all_)[DEFINERS]}


BUG = planted_bug(
    planted("late_records_are_ranked", RankingLanePart),
    "deterministic",
    shows_in=some_query(by_rank),
)
