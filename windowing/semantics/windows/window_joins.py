"""Window joins, by definition: in each window, the pairs of the records that it takes.

A window takes each record as a query's does: on time, at an epoch, or not at all. A record is in
it from its end on, or from that epoch. A pair is sent in each window that both are in, at the later
of the two instants. In an outer join, a record of a kept side is sent alone when it gets into a
window, unless it has a pair there by then; its first later pair retracts that row.

Source: `windowing/adr/0072`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from windowing.model.flow import StreamFlow
from windowing.model.join import Side
from windowing.model.query import Query
from windowing.model.rows import Row
from windowing.model.window_join import WindowJoinQuery
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.units import Item, Lateness, OutsideReason, Verdict
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import FlowDefinition
from windowing.semantics.windows.joins import fulfil, key_of_pair, shown_of


@dataclass(frozen=True)
class WindowJoinDefinition(FlowDefinition):
    """Window joins: which windows take a record, and when."""

    query: WindowJoinQuery

    @property
    def windows(self) -> ByValueDefinition:
        """The windows, as those of a query."""
        query = self.query
        late, retention_us = query.late, query.retention_us
        flow = StreamFlow(window=query.over, aggregates=(), late=late, retention_us=retention_us)
        definition = definition_of(flow)
        assert isinstance(definition, ByValueDefinition)  # noqa: S101 - a join takes no others
        return definition

    def takes(self, item: Item) -> bool:
        """Return whether some window takes a record."""
        return self.windows.takes(item)

    def lateness(self, item: Item) -> Lateness | None:
        """Return the windows that a record is late for; None: it is not late."""
        return self.windows.lateness(item)

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        return self.windows.outside(value)

    def verdicts(self, item: Item) -> dict[int, Verdict]:
        """Return the verdict of each of a record's windows."""
        return self.windows.verdicts(item)


@dataclass(frozen=True, eq=False)
class _Member:
    """A record in a window, since an instant."""

    item: Item
    instant: Progress
    late: bool


@dataclass(frozen=True)
class WindowJoinRow:
    """A row of a window join.

    Attributes:
        instant: when it is sent.
        retracts: it retracts the row of a record that was sent alone.
    """

    wid: int
    instant: Progress
    members: Mapping[Side, _Member]
    retracts: bool = False


def rows(query: WindowJoinQuery, items: Sequence[Item], lanes: Iterable[Lane]) -> Iterator[Row]:
    """Yield all rows that the log shows of a window join.

    Args:
        items: the good records of both streams.
        lanes: all lanes, at the end of the log.
    """
    progress = min(lane.progress for lane in lanes)
    windows = WindowJoinDefinition(query).windows
    for row in sent(query, items):
        if row.instant <= progress:
            yield _shown(query, windows.extent(row.wid), row)


def sent(query: WindowJoinQuery, items: Iterable[Item]) -> Iterator[WindowJoinRow]:
    """Yield all rows that records ever send, window by window."""
    windows = WindowJoinDefinition(query).windows
    contents: dict[int, dict[Side, list[_Member]]] = defaultdict(lambda: {"left": [], "right": []})
    for item in items:
        for wid, verdict in windows.verdicts(item).items():
            if verdict == "on_time":
                member = _Member(item, windows.extent(wid)[1], late=False)
            elif verdict != "refused":
                member = _Member(item, int(verdict), late=True)
            else:
                continue
            contents[wid][query.side_of(item.source)].append(member)
    for wid, members in sorted(contents.items()):
        yield from _of_window(query, wid, members)


def _of_window(
    query: WindowJoinQuery, wid: int, members: Mapping[Side, Sequence[_Member]]
) -> Iterator[WindowJoinRow]:
    paired: dict[_Member, Progress] = {}
    for left in members["left"]:
        for right in members["right"]:
            if not _match(query, left.item, right.item):
                continue
            instant = max(left.instant, right.instant)
            for member in (left, right):
                paired[member] = min(paired.get(member, math.inf), instant)
            yield WindowJoinRow(wid, instant, {"left": left, "right": right})
    for side, own in members.items():
        for member in own if query.keeps(side) else ():
            first = paired.get(member)
            if first is None or first > member.instant:
                yield WindowJoinRow(wid, member.instant, {side: member})
                if first is not None:
                    yield WindowJoinRow(wid, first, {side: member}, retracts=True)


def _match(query: WindowJoinQuery, left: Item, right: Item) -> bool:
    """Return whether two records of one window are a pair; null equals nothing."""
    for one, other in query.on.items():
        if left.fields[one] is None or left.fields[one] != right.fields[other]:
            return False
    return fulfil(query, left, right)


def _shown(query: WindowJoinQuery, extent: tuple[int, int], row: WindowJoinRow) -> Row:
    pair = {side: member.item for side, member in row.members.items()}
    late = any(member.late for member in row.members.values())
    values, failed = shown_of(query, pair)
    return Row(
        query=query.name,
        window_id=row.wid,
        window_start_us=extent[0],
        window_end_us=extent[1],
        key=key_of_pair(query, pair),
        pane="late" if late else "full",
        revision=int(late),
        records=len(pair),
        offsets={item.lane: (item.offset, item.offset) for item in pair.values()},
        values=values,
        overflow=failed,
        retracts=row.retracts,
    )


def as_query(query: WindowJoinQuery) -> Query:
    """Return a query whose windows take the records that those of the join do.

    Its key is what must be equal, as the left side calls it.
    """
    return Query(
        name=query.name,
        window=query.over,
        group_by=tuple(query.on),
        aggregates=(),
        late=query.late,
        retention_us=query.retention_us,
    )


def with_left_names(query: WindowJoinQuery, item: Item) -> Item:
    """Return a record that has what must be equal as the left side calls it."""
    side = query.side_of(item.source)
    own = zip(query.on, query.key_fields(side), strict=True)
    return replace(item, fields={**item.fields, **{name: item.fields[its] for name, its in own}})
