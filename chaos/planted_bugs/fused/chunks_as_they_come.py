"""Chunks of a lane that are composed in the order of their arrival.

Defect: a chunk behind one with larger offsets is taken for a redelivery.
How one gets it: in a test, one task reads a partition, and its chunks come in order.
Expected: records are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import can_be_fused
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.fused.provisional import Provisional
from windowing.engine.fused.settler import Settler


class HastySettler(Settler):
    """Sorts by lane only."""

    def _in_order(self, chunks: Sequence[Provisional]) -> list[Provisional]:
        return sorted(chunks, key=attrgetter("partition"))


BUG = planted_bug(
    EngineParts("chunks_as_they_come", settler=HastySettler, fused=True),
    "deterministic",
    "conservation",
    "exactly once",
    shows_in=can_be_fused,
)
