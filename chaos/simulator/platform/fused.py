"""A shard of the fused plan: it settles the chunks of lanes itself."""

from __future__ import annotations

from collections.abc import Sequence

from windowing.engine.fused.provisional import Provisional
from windowing.engine.fused.settler import Settler
from windowing.engine.shard import Emission, Shard
from windowing.engine.state import StateStore


class FusedShard:
    """A settler and a shard on one state, as in one task of Spark.

    Args:
        settler: what settles chunks.
        shard: what emits rows.
    """

    def __init__(self, settler: Settler, shard: Shard) -> None:
        self._settler, self._shard = settler, shard

    def step(self, store: StateStore, chunks: Sequence[Provisional], wall_us: int) -> Emission:
        """Process one batch's chunks, in any order.

        Args:
            store: the shard's state.
            chunks: of all lanes.
            wall_us: the simulated clock.
        """
        return self._shard.step(store, self._settler.settle(store, chunks), wall_us)
