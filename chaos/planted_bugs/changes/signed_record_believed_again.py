"""A lane that believes a signed control record as often as it comes.

Defect: counters are not compared.
How one gets it: a signature shows who wrote a record, and not when.
Expected: dead letters are missing: whoever can read the topic can repeat what was said.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import with_lane
from chaos.planted_bugs.planted import PlantedLane
from windowing.engine.lane import LaneState


class Forgiving(PlantedLane):
    """Takes every counter."""

    def _once(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        super()._once(chunk, state)
        return chunk


BUG = planted_bug(
    with_lane("signed_record_believed_again", Forgiving),
    *("dead letters", "deterministic", "conservation", "progress", "closing"),
)
