"""Queries that are all evaluated when the first query is due.

Defect: the shard has one due time, that of one query.
How one gets it: a timer per key, registered by the first query.
Expected: rows of other queries come too late.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_queries, some_query
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.parcel import Parcel
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore


class OneTimerShard(PlantedShard):
    """Keeps one timer for all queries."""

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        first = min(state.due_us, default=None)
        if first is not None:
            state.due_us = dict.fromkeys(state.due_us, state.due_us[first])


BUG = planted_bug(
    planted("due_time_of_the_first_query", shard=OneTimerShard),
    "closing",
    "deterministic",
    shows_in=some_query(several_queries),
)
