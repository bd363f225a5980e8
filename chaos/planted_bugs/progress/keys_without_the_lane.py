"""Progress per key that ignores the lane's bounds.

Defect: Q_k instead of max(P, Q_k): a bound of the lane closes nothing of a key with its own bound.
How one gets it: two kinds of punctuation in two tables, only one of which is read.
Expected: rows come late or never.
"""

from __future__ import annotations

from functools import cached_property

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import per_key
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KEY_BOUND
from windowing.engine.progress.reached import StreamProgress
from windowing.engine.wids import ENDED


class KeysProgress(StreamProgress):
    """Reads only the table of keys."""

    @cached_property
    def _by_key(self) -> pl.DataFrame | None:
        true = StreamProgress(self.lanes, self.key, self.keys)._by_key
        if true is None or self.keys is None or self.stream_us == ENDED:
            return true
        least = self.keys.group_by(self.key).agg(pl.col(KEY_BOUND).min())
        joined = true.join(least, on=self.key, how="left", nulls_equal=True)
        own = pl.min_horizontal("progress", KEY_BOUND)
        return joined.select(self.key, own.alias("progress"), "furthest")


BUG = planted_bug(
    planted(
        "keys_without_the_lane",
        names={"windowing.engine.progress.clock:StreamProgress": KeysProgress},
    ),
    "closing",
    "deterministic",
    shows_in=per_key,
)
