"""Progress per key that follows the first lane to send a bound for the key.

Defect: the largest bound over the lanes instead of the smallest.
How one gets it: a key is assumed to occur in one lane only.
Expected: windows close before all lanes have passed them.
"""

from __future__ import annotations

from functools import cached_property

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import per_key
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KEY_BOUND
from windowing.engine.progress.reached import StreamProgress
from windowing.model.file.pipeline import Pipeline


def in_several_lanes(pipeline: Pipeline) -> bool:
    """Whether keys have their own progress, in more than one lane."""
    return per_key(pipeline) and pipeline.source.partitions > 1


class FirstLaneProgress(StreamProgress):
    """Takes the largest bound of any lane."""

    @cached_property
    def _by_key(self) -> pl.DataFrame | None:
        true = StreamProgress(self.lanes, self.key, self.keys)._by_key
        if true is None or self.keys is None:
            return true
        most = self.keys.group_by(self.key).agg(pl.col(KEY_BOUND).max())
        joined = true.join(most, on=self.key, how="left", nulls_equal=True)
        further = pl.max_horizontal("progress", KEY_BOUND)
        return joined.select(self.key, further.alias("progress"), "furthest")


BUG = planted_bug(
    planted(
        "keyed_bound_of_one_lane",
        names={"windowing.engine.progress.clock:StreamProgress": FirstLaneProgress},
    ),
    "closing",
    "deterministic",
    shows_in=in_several_lanes,
)
