"""Rows in the order of time that begin at 0 again after each compaction.

Defect: how many rows have a number is not kept with the base.
How one gets it: a counter that is derived from what is in state, and state is tidied up.
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
    """Has numbered nothing before."""

    def _numbered_before(self, tables: Tables, rows: pl.DataFrame) -> Ints:
        del tables, rows
        return np.array([0])


BUG = planted_bug(
    planted("ranked_again_from_zero", FreshShardPart),
    "deterministic",
    shows_in=some_query(ranked_rows),
)
