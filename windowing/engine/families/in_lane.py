"""What a lane knows of the queries of a family: which take part in it, and behind what they leave.

A query that joins takes part in the lanes that took it, and one that leaves does so in each lane
behind its own record (`adr/0040`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from windowing.engine.families.family import Family, Member
from windowing.engine.families.grids import Grids
from windowing.engine.wids import Ints
from windowing.engine.windows.active import ActiveLanes
from windowing.model.lengths import INT64_MAX
from windowing.model.source import Source


@dataclass(frozen=True)
class QueriesInLane:
    """The queries of a family in one lane.

    Attributes:
        grids: their distinct windows; those of queries that do not take part are none.
        leave_at: the offsets behind which queries leave, in order.
        lasts: the last window of each grid, by how many of these offsets are known.
        endless: whether no query leaves, in any lane.
    """

    grids: Grids
    leave_at: Ints
    lasts: Ints
    endless: bool

    @classmethod
    def of(cls, family: Family, source: Source, partition: int) -> Self:
        """Return what a lane knows.

        Args:
            family: the queries.
            source: with the lane.
            partition: the lane's.
        """
        lanes = [ActiveLanes.of(member.query.window, source) for member in family.members]
        present = [one is None or partition in one.joins_at for one in lanes]
        leaves = [None if one is None else one.leaves_at.get(partition) for one in lanes]
        leave_at = np.array(sorted({at for at in leaves if at is not None}), np.int64)
        lasts = np.full((len(lanes), len(leave_at) + 1), INT64_MAX)
        for number, (own, at) in enumerate(zip(lanes, leaves, strict=True)):
            if own is not None and at is not None:
                last = own.lasts.get(partition, INT64_MAX)
                lasts[number, np.searchsorted(leave_at, at) + 1 :] = last
        endless = all(_last(member) == INT64_MAX for member in family.members)
        return cls(family.grids.where(present), leave_at, lasts, endless)

    def known(self, offsets: Ints) -> Ints:
        """Return how many changes of the lane come before each of its offsets."""
        return np.searchsorted(self.leave_at, offsets)


def _last(member: Member) -> int:
    return INT64_MAX if member.active is None else member.active.last
