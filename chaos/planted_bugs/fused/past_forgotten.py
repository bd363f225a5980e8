"""A shard that takes every chunk for the first of its lane.

Defect: a chunk is settled by no progress, as it was scanned.
How one gets it: the progress is advanced before the chunk is settled in a test, and never in a job.
Expected: records that are late after an earlier chunk count on time.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import can_be_fused
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.fused.settler import Settler
from windowing.engine.parcel import Addition
from windowing.engine.progress.reached import Reached


class ForgetfulSettler(Settler):
    """Settles by the progress of an empty lane."""

    def _settled(
        self, query: str, addition: Addition, before: Mapping[str, Reached], partition: int
    ) -> Addition | None:
        return super()._settled(query, addition, dict.fromkeys(before, Reached()), partition)


BUG = planted_bug(
    EngineParts("past_forgotten", settler=ForgetfulSettler, fused=True),
    "deterministic",
    "closing",
    shows_in=can_be_fused,
)
