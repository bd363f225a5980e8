"""Unreadable values that are counted for the first query only.

Defect: `read` and `dead` of the others lack them.
How one gets it: a counter incremented per dead letter; all queries share one dead letter.
Expected: the counts of the other queries differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_queries, some_query
from chaos.planted_bugs.planted import PlantedLane, planted
from windowing.engine.frames import from_bytes, to_bytes
from windowing.engine.parcel import Parcel
from windowing.engine.state import StateStore


class OnceLane(PlantedLane):
    """Counts them once."""

    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:  # noqa: D102
        parcels = super().step(store, chunks)
        for parcel in parcels:
            if parcel.metrics is not None and parcel.dead_letters is not None:
                bad = int(from_bytes(parcel.dead_letters)["query"].null_count())
                metrics = from_bytes(parcel.metrics)
                others = (pl.col("query") != metrics["query"][0]).cast(pl.Int64) * bad
                once = (pl.col(name) - others for name in ("read", "dead"))
                parcel.metrics = to_bytes(metrics.with_columns(*once))
        return parcels


BUG = planted_bug(
    planted("bad_values_of_one_query", lane=OnceLane),
    "conservation",
    shows_in=some_query(several_queries),
)
