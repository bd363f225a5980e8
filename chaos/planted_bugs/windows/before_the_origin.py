"""Windows that accept records before the origin.

Defect: the origin aligns windows but does not bound them.
How one gets it: `floor((ts - origin) / slide)` without a check of the sign.
Expected: records outside all windows are counted as applied.
"""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Grid, Ints
from windowing.model.file.pipeline import Pipeline, Query


def aligned_by_end(_: Pipeline, query: Query) -> bool:
    """Whether windows begin at the origin."""
    return query.window.align == "end"


class EndlessGrid(Grid):
    """Extends before its origin."""

    def first(self, values: Ints) -> Ints:  # noqa: D102
        return self.open_from(values)

    def outside(self, values: Ints) -> Flags:  # noqa: D102
        return np.zeros(len(values), dtype=bool)


BUG = planted_bug(
    planted("before_the_origin", EndlessGrid),
    "conservation",
    shows_in=some_query(sliding, aligned_by_end),
)
