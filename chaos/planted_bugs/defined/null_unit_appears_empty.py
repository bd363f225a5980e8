"""Windows defined by a late record that omit on-time records where PATTR is null.

Defect: on-time records are joined to new windows by PATTR, and null equals nothing.
How one gets it: a join with SQL's null semantics.
Expected: late rows of the null unit hold too little.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_pattr, defined, nullable_key, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.by_record import AtRecordsShardPart
from windowing.engine.windows.part import Tables


class SqlShardPart(AtRecordsShardPart):
    """Joins on-time records by SQL equality of PATTR."""

    def _appearing(
        self, tables: Tables, windows: pl.DataFrame, before: Progress, after: Progress
    ) -> pl.DataFrame:
        held = super()._appearing(tables, windows, before, after)
        return held.drop_nulls(self._unit) if self._unit else held


BUG = planted_bug(
    planted("null_unit_appears_empty", SqlShardPart),
    "deterministic",
    shows_in=some_query(defined, updates, by_pattr, nullable_key),
)
