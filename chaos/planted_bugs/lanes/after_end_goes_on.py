"""A lane that continues after it has ended.

Defect: records in batches after the `end` record are applied as usual.
How one gets it: the end is an event of the batch, not part of the state.
Expected: applied records in place of dead letters.
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
