"""Rows in order of time that are numbered from 0 again after each compaction.

Defect: the number of rows already numbered is not kept with the base.
How one gets it: a counter derived from state that is later compacted.
Expected: windows hold other rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import ranked_rows, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Ints
from windowing.engine.windows.part import Tables
from windowing.engine.windows.rows import RankedShardPart


class FreshShardPart(RankedShardPart):
    """Forgets how many rows were numbered before."""

    def _numbered_before(self, tables: Tables, rows: pl.DataFrame) -> Ints:
        del tables, rows
        return np.array([0])


BUG = planted_bug(
    planted("ranked_again_from_zero", FreshShardPart),
    "deterministic",
    shows_in=some_query(ranked_rows),
)
