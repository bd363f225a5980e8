"""A join that looks for partners among the records of the same batch only.

Defect: new left records do not probe records of earlier batches.
How one gets it: a stream-stream join as a join of two micro-batches.
Expected: pairs are missing; which ones depends on the cuts.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart, _Moved


class BatchShardPart(JoinShardPart):
    """Probes only new records."""

    def _new_pairs(self, moved: _Moved) -> pl.DataFrame:
        return self._match(moved.new("left"), moved.new("right"))


BUG = planted_bug(
    planted("join_new_misses_old", BatchShardPart), "deterministic", shows_in=some_join()
)
