"""Windows without a full row if an early row has shown the same content.

Defect: a provisional row is treated as the final one.
How one gets it: "has it changed since the last row?", for early and full rows alike.
Expected: full rows are missing.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import early, sliding, some_query
from chaos.planted_bugs.planted import Defect, PlantedShard, planted
from windowing.engine.columns import KEY, RECORDS, REVISION, WINDOW_ID
from windowing.engine.plan import Plan
from windowing.engine.shard import Emission, Step
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore


class SparingShard(PlantedShard):
    """Suppresses full rows equal to early ones."""

    def __init__(self, defect: Defect, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(defect, plan, *args, **options)
        self._shown: set[str] = set()

    def _emit(self, store: StateStore, state: ShardState, moved: Step, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        for query, rows in emission.results.items():
            full = (rows[REVISION] == 0).to_list()
            known = [shown in self._shown for shown in _named(query, rows)]
            kept = [not (of_end and seen) for of_end, seen in zip(full, known, strict=True)]
            emission.results[query] = rows.filter(pl.Series(kept, dtype=pl.Boolean))
        for query, rows in emission.early.items():
            self._shown |= set(_named(query, rows))


def _named(query: str, rows: pl.DataFrame) -> list[str]:
    names = [name for name in (WINDOW_ID, KEY, RECORDS) if name in rows.columns]
    return [repr((query, row)) for row in rows.select(names).rows()]


BUG = planted_bug(
    planted("early_rows_count_as_sent", shard=SparingShard),
    "deterministic",
    shows_in=some_query(sliding, early),
)
