"""Families of queries, as data: who shares what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np

from windowing.engine.calendar import Spans
from windowing.engine.families.boundaries import Boundaries
from windowing.engine.families.grids import Grids, Reach
from windowing.engine.wids import Grid, Ints
from windowing.engine.windows.active import ActiveLanes, ActiveWindows
from windowing.engine.windows.classes import numbering_by
from windowing.model import Query
from windowing.model.lengths import INT64_MAX
from windowing.model.source import Source

MARK: Final = "shared:"
"""How names of families begin; no query has such a name."""


@dataclass(frozen=True)
class Variant:
    """Queries of a family with the same windows, activity and aggregates.

    Attributes:
        names: of the queries, in order.
        shows: by the name of an aggregate, that of the family's.
        member: the number of their windows in the family.
    """

    names: tuple[str, ...]
    shows: tuple[tuple[str, str], ...]
    member: int


@dataclass(frozen=True)
class Member:
    """The windows that some queries of a family have in common.

    Attributes:
        query: one of these queries, with the aggregates of all of them, under the family's names.
        grid: the windows' numbering, by places.
        active: which of these windows there are; None: all.
        queries: how many have them.
    """

    query: Query
    grid: Grid
    active: ActiveWindows | None
    queries: int


@dataclass(frozen=True)
class Family:
    """Queries that share slices.

    Its slices and windows lie at *places*: instants, or, where they go by a calendar, the numbers
    of its days or months. An edge has passed by an instant if its place has been reached by then.

    Attributes:
        query: one of them, with the family's name and the aggregates of all, and always active.
        founders: the names of those that have always been there. Its name, its slices and what it
            keeps of them follow from these alone, so that queries join and leave beside them.
        cut_by: the founders' grids, which slices are cut by.
        members: the distinct windows of all, the shortest slides first.
        variants: what they compute, by windows.
        steps: the days or months whose numbers are places; None: places are instants.
    """

    query: Query
    founders: frozenset[str]
    cut_by: tuple[Grid, ...]
    members: tuple[Member, ...]
    variants: tuple[Variant, ...]
    steps: Spans | None = None

    def places(self, instants: Ints) -> Ints:
        """Return the last place that each instant has reached."""
        return instants if self.steps is None else self.steps.numbers(instants)

    def instants(self, places: Ints) -> Ints:
        """Return the instant at which each place is reached."""
        return places if self.steps is None else self.steps.begins(places)

    def bounds(self, members: Ints, windows: Ints) -> tuple[Ints, Ints]:
        """Return start and end of windows, as rows show them, by the members that have them."""
        starts, ends = self.grids.some(members).bounds(windows)
        return self.instants(starts), self.instants(ends)

    @property
    def name(self) -> str:
        """The name of its state."""
        return self.query.name

    @property
    def names(self) -> list[str]:
        """The names of its queries, variant by variant."""
        return [name for variant in self.variants for name in variant.names]

    @cached_property
    def variant_of(self) -> Ints:
        """The number of the variant of each query, in the order of `names`."""
        return np.repeat(np.arange(len(self.variants)), [len(one.names) for one in self.variants])

    @cached_property
    def grids(self) -> Grids:
        """Its distinct windows, as columns of numbers."""
        return Grids([(member.grid, member.active) for member in self.members])

    @cached_property
    def boundaries(self) -> Boundaries:
        """The boundaries of its slices."""
        return Boundaries.limited(self.cut_by)

    @cached_property
    def ends(self) -> Boundaries:
        """The ends of its windows, and perhaps more."""
        found = Boundaries.of_ends(self.cut_by)
        return self.boundaries if found.are_many else found

    @cached_property
    def reach(self) -> Reach:
        """How long slices are needed."""
        return Reach.of([(member.grid, member.active) for member in self.members])


@dataclass(frozen=True)
class QueriesInLane:
    """What a lane knows of the queries of a family: which take part, and behind what they leave.

    A query that joins takes part in the lanes that took it, and one that leaves does so in each
    lane behind its own record (`adr/0040`).

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
        """Return what a lane knows."""
        windows = [member.query.window for member in family.members]
        lanes = [ActiveLanes.of(one, source, numbering_by(one)) for one in windows]
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
