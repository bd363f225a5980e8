"""Rows in the order of arrival whose unit may come in two lanes.

Defect: each lane numbers its own rows, and the two counts go undetected.
How one gets it: "partitioned by PATTR" is assumed, not checked.
Expected: rows where the definition rejects the log.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_pattr, rows_in_log, several_lanes, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KEY_BOUND
from windowing.engine.progress.reached import Reached, RowProgress
from windowing.engine.wids import ENDED


class TrustingProgress(RowProgress):
    """Does not check that a unit is in one lane."""

    @classmethod
    def of_lanes(  # noqa: D102
        cls, lanes: Sequence[Reached], key: str | None, keys: pl.DataFrame | None, what: str
    ) -> RowProgress:
        del what
        ended = all(lane.progress_us == ENDED for lane in lanes)
        if key is None or keys is None:
            return RowProgress(None, max(0, *(lane.furthest_us for lane in lanes)), ended)
        counts = keys.group_by(key, maintain_order=True).agg(pl.col(KEY_BOUND).max())
        return RowProgress(counts, 0, ended)


BUG = planted_bug(
    planted(
        "unit_of_two_lanes", names={"windowing.engine.progress.clock:RowProgress": TrustingProgress}
    ),
    "no error",
    "deterministic",
    shows_in=some_query(rows_in_log, by_pattr, several_lanes),
)
