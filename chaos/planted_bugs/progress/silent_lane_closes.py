"""An idle time-out that closes windows instead of showing them early.

Defect: a silent lane is left out of the minimum for final rows as well.
How one gets it: `withIdleness`.
Expected: windows close before the stream has reached their end.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import idle
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.idle import left_out
from windowing.engine.parcel import Parcel
from windowing.engine.shard_head import ShardState
from windowing.engine.state import StateStore


class IdleShard(PlantedShard):
    """Leaves out lanes that are silent in a batch, if lanes may be idle."""

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        if self._idle is None:
            return
        heard = {parcel.partition for parcel in parcels}
        for lanes in state.reached.values():
            silent = [number for number in range(len(lanes)) if number not in heard]
            lanes[:] = left_out(lanes, silent)


BUG = planted_bug(
    planted("silent_lane_closes", shard=IdleShard), "closing", "deterministic", shows_in=idle
)
