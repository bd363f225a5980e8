"""Families of queries, as data: who shares what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from windowing.engine.families.boundaries import Boundaries
from windowing.engine.families.grids import Grids, Reach
from windowing.engine.wids import Grid, Ints
from windowing.engine.windows.active import ActiveWindows
from windowing.model import Query

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
        grid: the windows' numbering.
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

    Attributes:
        query: one of them, with the family's name and the aggregates of all, and always active.
        founders: the names of those that have always been there. Its name, its slices and what it
            keeps of them follow from these alone, so that queries join and leave beside them.
        cut_by: the founders' grids, which slices are cut by.
        members: the distinct windows of all, the shortest slides first.
        variants: what they compute, by windows.
    """

    query: Query
    founders: frozenset[str]
    cut_by: tuple[Grid, ...]
    members: tuple[Member, ...]
    variants: tuple[Variant, ...]

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
