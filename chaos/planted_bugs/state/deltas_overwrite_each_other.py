"""Deltas that are all written under the same number.

Defect: a batch's delta overwrites the previous one.
How one gets it: a counter that is not part of the state.
Expected: a step does not find what its head counts; windows hold too little.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.parcel import Parcel
from windowing.engine.state import StateStore
from windowing.engine.tables import append


def always_first(
    store: StateStore, number: int, parcels: Sequence[Parcel], queries: Collection[str]
) -> bool:
    """Store the parcels' partials as the first delta."""
    del number
    return append(store, 0, parcels, queries)


BUG = planted_bug(
    planted("deltas_overwrite_each_other", names={"windowing.engine.tables:append": always_first}),
    "no error",
    "deterministic",
)
