"""Revisions numbered by a counter in memory.

Defect: after a restart, or on another worker, numbering starts again, and two revisions of a
window share an identity.
How one gets it: a counter in a field of the operator instead of in its state.
Expected: an identity occurs twice, or a revision has the number of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.columns import KEY, REVISION, WINDOW_ID
from windowing.engine.parcel import Parcel
from windowing.engine.plan import Plan
from windowing.engine.shard import Emission, Shard
from windowing.engine.state import StateStore


class CountingShard(Shard):
    """Counts late revisions in memory."""

    def __init__(self, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(plan, *args, **options)
        self._sent: Counter[str] = Counter()

    def step(  # noqa: D102
        self, store: StateStore, parcels: Sequence[Parcel], wall_us: int | None = None
    ) -> Emission:
        emission = super().step(store, parcels, wall_us)
        for query, frame in emission.results.items():
            ordered = frame.sort(REVISION)
            numbers = [self._number(query, row) for row in ordered.iter_rows(named=True)]
            emission.results[query] = ordered.with_columns(
                pl.Series(numbers, dtype=pl.Int64).alias(REVISION)
            )
        return emission

    def _number(self, query: str, row: dict[str, object]) -> int:
        if row[REVISION] == 0:
            return 0
        window = repr((query, row[WINDOW_ID], row.get(KEY)))
        self._sent[window] += 1
        return self._sent[window]


BUG = planted_bug(
    EngineParts("reused_identity", shard=CountingShard),
    "deterministic",
    "exactly once",
    "repeatable",
    shows_in=some_query(sliding, updates),
)
