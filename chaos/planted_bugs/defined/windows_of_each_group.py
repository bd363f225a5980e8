"""Windows defined by records per group instead of per stream.

Defect: GROUP BY is read as PATTR: a group has rows only where its own records define windows.
How one gets it: keyed state, in which a key cannot see the others.
Expected: a group's rows at other groups' windows are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_tuple, keyed, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.by_record import AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding_lane import Span


class KeyedLanePart(AtRecordsLanePart):
    """Defines windows per key."""

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        self._unit = self._keys
        return super()._tables(scan, spans)


class KeyedShardPart(AtRecordsShardPart):
    """Emits a key's own windows only."""

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:  # noqa: D102
        self._unit = self._keys
        return super().rows(tables, before, after)

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        self._unit = self._keys
        return super().retained(tables, after)


BUG = planted_bug(
    planted("windows_of_each_group", KeyedLanePart, KeyedShardPart),
    "deterministic",
    shows_in=some_query(by_tuple, keyed),
)
