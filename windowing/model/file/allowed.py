"""What a log may ask for by a change of the queries, under `source.control`.

Everything here is known of the record and of what its own lane has said before it, so that it does
not depend on how lanes interleave. Nothing is imported: a log names no class of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from windowing.model.control import AGGREGATES_MAX, WINDOWS_MAX
from windowing.model.fields import Aggregate, parse_aggregate
from windowing.model.file.conflicts import cells_of, windows_of
from windowing.model.file.layout import column_types
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.user_code import user_classes
from windowing.model.query import Query
from windowing.model.windows.own import OwnWindow, own_kind

LANE_CELLS_MAX: Final = 2_000_000
"""How many cells of rows, of all queries that a lane has added, a record may make."""

_Use = tuple[str, tuple[str, ...]]
"""A class, and the types of the fields that it is given."""


@dataclass(frozen=True)
class _Permits:
    """What a pipeline has, and so a log may name.

    Attributes:
        classes: of aggregates, as `module:Class`.
        uses: the same with the types of the fields that they are given.
        kinds: of windows that plug-ins declare.
        entries: limits of entries.
        columns: types of its own queries' columns, where all share a table; None: none do.
        added: by lane, offset and cells of each query that it has added.
    """

    classes: frozenset[str | None]
    uses: frozenset[_Use]
    kinds: frozenset[str]
    entries: frozenset[int | None]
    columns: Mapping[str, str] | None
    added: Mapping[str, Sequence[tuple[int, int]]]

    def before(self, lane: str, offset: int) -> list[int]:
        """Return the cells of each query that a lane has added before an offset."""
        return [cells for at, cells in self.added.get(lane, ()) if at < offset]


class _Same(NamedTuple):
    """A pipeline, equal to itself alone."""

    pipeline: Pipeline

    def __hash__(self) -> int:
        return id(self.pipeline)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.pipeline is self.pipeline


@lru_cache(maxsize=8)
def _permits(of: _Same) -> _Permits:
    pipeline, added = of.pipeline, dict[str, list[tuple[int, int]]]()
    queries = pipeline.of(Query)
    for query in queries:
        for lane, at in (query.window.active and query.window.active.joined) or ():
            added.setdefault(lane, []).append((at, cells_of(query)))
    for conflict in pipeline.conflicts.values():
        for lane, own in conflict.items():
            added.setdefault(lane, []).append((own.at, own.cells))
    kinds = (window.kind for window in pipeline.windows if isinstance(window, OwnWindow))
    return _Permits(
        frozenset(one.reference for one in user_classes(pipeline) if one.settings is None),
        frozenset(use for query in queries for use in _uses(pipeline, query)),
        frozenset(kinds),
        frozenset({None, *(query.entries_max for query in queries)}),
        _columns(pipeline),
        added,
    )


def _columns(pipeline: Pipeline) -> dict[str, str] | None:
    """Return the types of the columns that the file's own queries give to a table of all."""
    if pipeline.destination.layout != "one":
        return None
    found: dict[str, str] = {}
    for query in pipeline.of(Query):
        if query.window.active is None or query.window.active.joined is None:
            found |= column_types(query, pipeline.source.fields)
    return found


def names_too_much(
    pipeline: Pipeline, lane: str, offset: int, added: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether a change says more than is permitted, by what is written alone.

    Args:
        pipeline: as all copies before have made it.
        lane, offset: the place of its copy.
        added: what it adds, unchecked.
    """
    rule = pipeline.source.control
    if rule.believe != "all" or len(added) > rule.queries:
        return True
    permits = _permits(_Same(pipeline))
    # What is no mapping, no file could have.
    given = (query.get("aggregates") for query in added.values())
    if any(isinstance(one, Mapping) and len(one) > AGGREGATES_MAX for one in given):
        return True
    if added and len(permits.before(lane, offset)) + len(added) > rule.queries:
        return True
    return any(
        not _own_kinds(query.get("window")) <= permits.kinds
        or not {one.user for one in _of_users(query.get("aggregates"))} <= permits.classes
        for query in added.values()
    )


def asks_too_much(pipeline: Pipeline, lane: str, offset: int, added: Iterable[Query]) -> bool:
    """Return whether queries that a lane adds ask for more work, or for an error of a class.

    A record may lie in `WINDOWS_MAX` windows of each, and make `LANE_CELLS_MAX` cells of all that
    its lane has added. A class gets fields of types that the file gives it. A limit of entries is
    the file's, since a run ends where one is reached. In a table of all queries, columns are those
    of the file's: lanes could not agree on others.

    Args:
        pipeline: as all copies before have made it.
        lane, offset: the place of its copy.
        added: the queries, checked.
    """
    permits, queries = _permits(_Same(pipeline)), [*added]
    if any(windows_of(query) > WINDOWS_MAX for query in queries):
        return True
    if sum(permits.before(lane, offset)) + sum(map(cells_of, queries)) > LANE_CELLS_MAX:
        return True
    if permits.columns is not None:
        for query in queries:
            if not column_types(query, pipeline.source.fields).items() <= permits.columns.items():
                return True
    return any(
        query.entries_max not in permits.entries or not {*_uses(pipeline, query)} <= permits.uses
        for query in queries
    )


def _own_kinds(window: object) -> set[str]:
    kind = own_kind(window) if isinstance(window, Mapping) else None
    return set() if kind is None else {kind}


def _of_users(aggregates: object) -> Iterator[Aggregate]:
    """Yield the aggregates that name a class, or a plug-in that stands for one."""
    for name, text in aggregates.items() if isinstance(aggregates, Mapping) else ():
        try:
            aggregate = parse_aggregate(str(name), text)
        except ValueError:
            continue  # no file could have it
        if aggregate.user is not None:
            yield aggregate


def _uses(pipeline: Pipeline, query: Query) -> Iterator[_Use]:
    fields = pipeline.source.fields
    for aggregate in query.aggregates:
        if aggregate.user is not None:
            yield aggregate.user, tuple(fields[name].kind for name in aggregate.fields)
