"""A stream that has ended as soon as one of its lanes has.

Defect: an `end` record is treated as the end of the stream.
How one gets it: one "done" flag, set by the first lane to end.
Expected: windows close before the other lanes have reached their end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_lanes, some_flow
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.parcel import Parcel
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore
from windowing.engine.wids import ENDED


class HastyShard(PlantedShard):
    """Ends with the first lane."""

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            if any(lane.progress_us == ENDED for lane in lanes):
                lanes[:] = [msgspec.structs.replace(lane, progress_us=ENDED) for lane in lanes]


BUG = planted_bug(
    planted("one_end_ends_all", shard=HastyShard),
    "closing",
    "deterministic",
    shows_in=some_flow(several_lanes),
)
