"""Families of queries, as data: who shares what, and why others do not.

Which queries share is a function of the pipeline, and does not depend on their order in its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from windowing.engine import wids
from windowing.engine.families.boundaries import Boundaries
from windowing.engine.families.grids import Grids, Reach
from windowing.engine.wids import Grid, Ints
from windowing.model import Pipeline, Query
from windowing.model.fields import Aggregate
from windowing.model.windows.sliding import is_sliding

MARK: Final = "shared:"
"""How names of families begin; no query has such a name."""

SERIES_MAX: Final = 128
"""How many sets of boundaries a family may have: each costs a step per record."""


@dataclass(frozen=True)
class Variant:
    """Queries of a family with the same windows and the same aggregates.

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
        queries: how many have them.
    """

    query: Query
    grid: Grid
    queries: int


@dataclass(frozen=True)
class Family:
    """Queries that share slices.

    Attributes:
        query: one of them, with the family's name and the aggregates of all.
        members: their distinct windows, the shortest slides first.
        variants: what they compute, by windows.
    """

    query: Query
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
        return Grids([member.grid for member in self.members])

    @cached_property
    def boundaries(self) -> Boundaries:
        """The boundaries of its slices."""
        return _boundaries([member.grid for member in self.members])

    @cached_property
    def ends(self) -> Boundaries:
        """The ends of its windows, and perhaps more."""
        found = Boundaries.of_ends(member.grid for member in self.members)
        return found if len(found.series) <= SERIES_MAX else self.boundaries

    @cached_property
    def reach(self) -> Reach:
        """How long slices are needed."""
        return Reach.of([member.grid for member in self.members])


def families_of(pipeline: Pipeline) -> dict[str, Family]:
    """Return the families of at least two queries, by name."""
    alike: dict[object, list[Query]] = {}
    for query in sorted(pipeline.queries, key=lambda query: query.name):
        if why_alone(query, pipeline) is None:
            alike.setdefault(_in_common(query), []).append(query)
    found = [
        family
        for queries in alike.values()
        if len(queries) > 1
        for family in _families(queries)
        if len(family.names) > 1
    ]
    return {family.name: family for family in found}


def why_alone(query: Query, pipeline: Pipeline) -> str | None:
    """Return why a query shares no slices with any other; None: it may."""
    window, source = query.window, pipeline.source
    if not is_sliding(window):
        return f"its slices are not those of sliding windows, but of {window.kind} windows"
    attribute = source.ordered_by(window.attribute)
    if attribute != source.event_time.field:
        return f"its windows are over {attribute}, and not over event time"
    if source.generator_of(attribute).progress_attr is not None:
        return "its progress is kept per key"
    if query.early is not None or source.idle_timeout_us is not None:
        return "its open windows are shown"
    if query.entries_max is not None:
        return "its state has a limit of its own"
    if window.active is not None:
        return "it joins the stream, or leaves it"
    return None


def _in_common(query: Query) -> object:
    """Return what queries must have in common to share slices."""
    late = query.late
    return (
        (query.window.pattr, query.group_by),
        (late.policy, late.mode, late.every_us),
        (query.retention_us, query.accumulation),
    )


def _families(queries: Sequence[Query]) -> Iterator[Family]:
    """Return as few families as have few enough boundaries."""
    by_grid: dict[Grid, list[Query]] = {}
    for query in queries:
        by_grid.setdefault(wids.grid(query.window), []).append(query)
    ascending = sorted(
        by_grid, key=lambda g: (g.slide, g.range_ or 0, g.origin, g.least is not None)
    )
    for grids in _divided(ascending):
        yield _family([(grid, by_grid[grid]) for grid in grids])


def _divided(grids: list[Grid]) -> Iterator[list[Grid]]:
    own = Boundaries.of_windows(grids)
    if len(own.series) <= SERIES_MAX or own.levelled().density <= own.density:
        yield grids
        return
    half = len(grids) // 2
    yield from _divided(grids[:half])
    yield from _divided(grids[half:])


def _boundaries(grids: Sequence[Grid]) -> Boundaries:
    own = Boundaries.of_windows(grids)
    return own if len(own.series) <= SERIES_MAX else own.levelled()


def _family(windows: Sequence[tuple[Grid, Sequence[Query]]]) -> Family:
    named: dict[Aggregate, str] = {}
    members, variants = [], []
    for number, (grid, queries) in enumerate(windows):
        by_shows: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for query in queries:
            shows = tuple((one.name, _named(one, named)) for one in query.aggregates)
            by_shows.setdefault(shows, []).append(query.name)
        used = {name for shows in by_shows for _, name in shows}
        common = queries[0].model_copy(update={"aggregates": _aggregates(named, used)})
        members.append(Member(common, grid, len(queries)))
        variants += [Variant(tuple(own), shows, number) for shows, own in by_shows.items()]
    first = min(query.name for _, queries in windows for query in queries)
    update = {"name": MARK + first, "aggregates": _aggregates(named, set(named.values()))}
    return Family(members[0].query.model_copy(update=update), tuple(members), tuple(variants))


def _named(aggregate: Aggregate, named: dict[Aggregate, str]) -> str:
    """Return the family's name of an aggregate: its own, if that is not another one's."""
    what = replace(aggregate, name="", code=None)
    if what not in named:
        taken = set(named.values())
        name = aggregate.name
        while name in taken:
            name += "'"
        named[what] = name
    return named[what]


def _aggregates(named: dict[Aggregate, str], used: set[str]) -> tuple[Aggregate, ...]:
    return tuple(replace(what, name=name) for what, name in named.items() if name in used)
