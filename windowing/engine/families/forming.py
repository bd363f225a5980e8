"""Which queries share slices, and why others do not.

It is a function of the pipeline, and does not depend on the order of its queries. What a family
keeps follows from its founders: the queries that have always been there. So its state stays what it
is while others join, and while any of them leaves (`windowing/adr/0044`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from windowing.engine.calendar import Spans
from windowing.engine.families.boundaries import Boundaries
from windowing.engine.families.family import MARK, Family, Member, Variant
from windowing.engine.wids import NOTHING_YET, Grid, Numbering
from windowing.engine.windows.active import ActiveWindows
from windowing.engine.windows.calendar import CalendarNumbering
from windowing.engine.windows.classes import numbering_by
from windowing.model import Pipeline, Query
from windowing.model.fields import Aggregate
from windowing.model.windows.activity import Activity
from windowing.model.windows.sliding import begins_later, has_extents, with_active


def families_of(pipeline: Pipeline) -> dict[str, Family]:
    """Return the families of at least two founders, by name."""
    alike: dict[object, list[Query]] = {}
    for query in sorted(pipeline.of(Query), key=lambda query: query.name):
        if why_alone(query, pipeline) is None:
            alike.setdefault(_in_common(query), []).append(query)
    found = [family for queries in alike.values() for family in _families(queries)]
    return {family.name: family for family in found}


def why_alone(query: Query, pipeline: Pipeline) -> str | None:
    """Return why a query shares no slices with any other; None: it may."""
    window, source = query.window, pipeline.source
    if window.traits.periodic:
        return "it keeps one sum of each period; a family would keep its slices to the period's end"
    if not has_extents(window):
        return f"its slices are not those of sliding windows, but of {window.kind} windows"
    attribute = source.ordered_by(window.attribute)
    if attribute != source.event_time.field:
        return f"its windows are over {attribute}, and not over event time"
    if source.generator_of(attribute).progress_attr is not None:
        return "its progress is kept per key"
    if query.early is not None or source.idle_timeout_us is not None:
        return "its open windows are shown"
    if query.empty_after:
        return "it sends rows of windows without records"
    if query.having is not None:
        return "its rows are judged one by one, by having"
    if query.entries_max is not None:
        return "its state has a limit of its own"
    # Where states lie must not depend on `check`, which a class may get while it runs (ADR 44).
    if query.by_users:
        return f"its class for {query.by_users[0]} may refuse records that others take"
    return None


def _in_common(query: Query) -> object:
    late = query.late
    return (
        (query.window.pattr, query.group_by),
        (late.policy, late.mode, late.every_us),
        (query.retention_us, query.accumulation),
        _steps(query),
    )


def _families(queries: Sequence[Query]) -> Iterator[Family]:
    """Yield as few families as have few enough boundaries."""
    by_grid: dict[Grid, list[Query]] = {}
    for query in queries:
        if not begins_later(query.window):
            by_grid.setdefault(_grid(query), []).append(query)
    joining = [query for query in queries if begins_later(query.window)]
    for grids in _divided(sorted(by_grid, key=_by_slide)) if by_grid else ():
        founders = [query for grid in grids for query in by_grid[grid]]
        if len(founders) > 1:
            family = _family(founders)
            taken: list[Query] = []
            left: list[Query] = []
            for query in joining:
                (taken if _has_slices_for(family, query) else left).append(query)
            joining = left
            yield _family(founders, taken) if taken else family


def _divided(grids: list[Grid]) -> Iterator[list[Grid]]:
    own = Boundaries.of_windows(grids)
    if not own.are_many or own.levelled().density <= own.density:
        yield grids
        return
    half = len(grids) // 2
    yield from _divided(grids[:half])
    yield from _divided(grids[half:])


def _has_slices_for(family: Family, query: Query) -> bool:
    """Return whether a family keeps all that a query needs that joins it."""
    if not {*map(_what, query.aggregates)} <= {*map(_what, family.query.aggregates)}:
        return False
    grid, active = _grid(query), query.window.active
    if not (family.boundaries.hold(grid) and family.ends.hold_ends(grid)):
        return False
    # Windows that are shown in part begin where the query does.
    if active is None or active.begins_us is None or active.warmup == "skip":
        return True
    begins = np.array([active.begins_us])
    places = family.places(begins)
    begins_there = (family.instants(places) == begins).all()
    return bool(begins_there) and family.boundaries.has(int(places[0]))


def _family(founders: Sequence[Query], joining: Sequence[Query] = ()) -> Family:
    """Return the family of founders, the shortest slides first, and of queries that join them."""
    named: dict[Aggregate, str] = {}
    for aggregate in (aggregate for query in founders for aggregate in query.aggregates):
        _name(aggregate, named)
    windows: dict[tuple[Grid, Activity | None], list[Query]] = {}
    for query in sorted((*founders, *joining), key=lambda one: (_by_slide(_grid(one)), one.name)):
        windows.setdefault((_grid(query), query.window.active), []).append(query)
    members, variants = [], []
    for number, ((grid, _), queries) in enumerate(windows.items()):
        by_shows: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for query in queries:
            shows = tuple((one.name, named[_what(one)]) for one in query.aggregates)
            by_shows.setdefault(shows, []).append(query.name)
        used = {name for shows in by_shows for _, name in shows}
        common = queries[0].model_copy(update={"aggregates": _aggregates(named, used)})
        members.append(Member(common, grid, _active(common), len(queries)))
        variants += [Variant(tuple(own), shows, number) for shows, own in by_shows.items()]
    names = frozenset(query.name for query in founders)
    update = {
        "name": MARK + min(names),
        "aggregates": _aggregates(named, {*named.values()}),
        "window": with_active(founders[0].window, None),
    }
    return Family(
        query=founders[0].model_copy(update=update),
        founders=names,
        cut_by=tuple(dict.fromkeys(map(_grid, founders))),
        members=tuple(members),
        variants=tuple(variants),
        steps=_steps(founders[0]),
    )


def _numbering(query: Query) -> Numbering:
    """Return the windows of a query as if it ran for ever."""
    window = with_active(query.window, None)
    return numbering_by(window)


def _grid(query: Query) -> Grid:
    """Return the windows of a query as if it ran for ever, by places."""
    numbering = _numbering(query)
    grid = numbering.grid if isinstance(numbering, CalendarNumbering) else numbering
    assert isinstance(grid, Grid)  # noqa: S101 - of windows that have extents
    return grid


def _steps(query: Query) -> Spans | None:
    """Return the days or months that are the places of a query; None: places are instants."""
    numbering = _numbering(query)
    return numbering.steps if isinstance(numbering, CalendarNumbering) else None


def _active(query: Query) -> ActiveWindows | None:
    """Return the windows of a query's activity, and the first place that they hold."""
    active, steps = ActiveWindows.of(query.window, _numbering(query)), _steps(query)
    if active is None or steps is None or active.begins == NOTHING_YET:
        return active
    return replace(active, begins=int(steps.numbers(np.array([active.begins - 1]))[0]) + 1)


def _by_slide(grid: Grid) -> tuple[int, int, int, bool]:
    return grid.slide, grid.range_ or 0, grid.origin, grid.least is not None


def _what(aggregate: Aggregate) -> Aggregate:
    """Return what an aggregate computes, whatever it is called."""
    return replace(aggregate, name="", code=None)


def _name(aggregate: Aggregate, named: dict[Aggregate, str]) -> None:
    """Give an aggregate a name in the family: its own, if that is not another one's."""
    what = _what(aggregate)
    if what not in named:
        taken, name = {*named.values()}, aggregate.name
        while name in taken:
            name += "'"
        named[what] = name


def _aggregates(named: Mapping[Aggregate, str], used: set[str]) -> tuple[Aggregate, ...]:
    return tuple(replace(what, name=name) for what, name in named.items() if name in used)
