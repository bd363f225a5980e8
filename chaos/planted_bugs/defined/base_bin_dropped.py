"""Windows defined by records that lose their base at a punctuation.

Defect: partials from before the punctuation are dropped instead of carried past it.
How one gets it: the punctuation step as printed in Li et al., section 4.4.
Expected: windows after a punctuation hold too little.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import defined, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import FIRST_WINDOW
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.by_record import AtRecordsShardPart
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.engine.windows.stamps import per_row


class PrintedShardPart(AtRecordsShardPart):
    """Drops what begins before the punctuation."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        partials = tables[PARTIALS]
        behind = pl.col(FIRST_WINDOW) > per_row(self._gone(partials, after))
        return super().retained({**tables, PARTIALS: partials.filter(behind)}, after)


BUG = planted_bug(
    planted("base_bin_dropped", PrintedShardPart), "deterministic", shows_in=some_query(defined)
)
