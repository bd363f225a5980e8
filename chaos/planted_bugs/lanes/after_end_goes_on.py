"""A lane that goes on after it has ended.

Defect: what comes in a later batch than the `end` record is taken like anything else.
How one gets it: the end is an event of the batch, and no state.
Expected: records in place of dead letters.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedLane, planted
from windowing.engine.progress.clock import Rows


class EndlessLane(PlantedLane):
    """Forgets that it has ended."""

    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        del ended
        return super()._sorted_out(chunk, False)


BUG = planted_bug(
    planted("after_end_goes_on", lane=EndlessLane), "dead letters", "conservation", "deterministic"
)
