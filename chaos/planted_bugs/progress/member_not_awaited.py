"""Sorted sub-streams that count only once seen.

Defect: a member that has sent nothing yet holds nothing back.
How one gets it: a minimum over a map that is filled as keys appear.
Expected: a lane's progress is higher than its members allow.
For attributes other than time, whose progress is not reported, the rows differ.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import TIME, field_column
from windowing.engine.progress.ordered_per import OrderedPer
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model import progress
from windowing.model.file.pipeline import Pipeline


def of_members(pipeline: Pipeline) -> bool:
    """Whether the pipeline names its sub-streams."""
    given = pipeline.source.disorder
    return isinstance(given, progress.OrderedPer) and given.members is not None


class ImpatientMembers(OrderedPer):
    """Waits only for members already seen."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        before = list(memory) or [NOTHING_YET] * len(self._members)
        true = super().bounds(records, memory)
        ts_us, named = records[TIME].to_numpy(), records[field_column(self._attr)]
        behind = np.full(len(records), np.iinfo(np.int64).max)
        for member, newest_us in zip(self._members, before, strict=True):
            own = (named == member).fill_null(value=False).to_numpy()
            newest = np.maximum.accumulate(np.where(own, ts_us, NOTHING_YET))
            newest = np.maximum(newest, newest_us)
            behind = np.where(newest == NOTHING_YET, behind, np.minimum(behind, newest))
        return np.where(behind == np.iinfo(np.int64).max, true, behind)


BUG = planted_bug(
    planted("member_not_awaited", ImpatientMembers),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=of_members,
)
