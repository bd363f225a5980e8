"""Windows that records define, made for each group instead of for the stream.

Defect: GROUP BY is read as PATTR: a group has rows only where its own records define windows.
How one gets it: keyed state, in which a key sees nothing of the others.
Expected: rows of groups at the windows of others are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_tuple, keyed, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.assign.defined import DefinedAssigner
from windowing.engine.windows.assign.sliding import Span
from windowing.engine.windows.emission.defined import DefinedEmitter
from windowing.engine.windows.part import Scan, Tables


class KeyedAssigner(DefinedAssigner):
    """Makes windows by key."""

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        self._unit = self._keys
        return super()._tables(scan, spans)


class KeyedEmitter(DefinedEmitter):
    """Shows them by key."""

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:  # noqa: D102
        self._unit = self._keys
        return super().rows(tables, before, after)

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        self._unit = self._keys
        return super().retained(tables, after)


BUG = planted_bug(
    planted("windows_of_each_group", KeyedAssigner, KeyedEmitter),
    "deterministic",
    shows_in=some_query(by_tuple, keyed),
)
