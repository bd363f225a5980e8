"""Why a window is as it is: what it holds, what came too late, and which lanes hold it back.

Reads the log once, entry by entry. Where windows are per key, it keeps only the records of the
window's key; where a record's value alone determines its windows, only those that may be in this
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.lengths import spell_instant
from windowing.model.progress import Slack
from windowing.model.rows import Key, Row, Scalar, in_row, row_order
from windowing.model.source import Source
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import ROW_NUM
from windowing.semantics.aggregates import refusal
from windowing.semantics.arrivals import follow
from windowing.semantics.found import Finder
from windowing.semantics.having import sent as sent_of
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.log import LogEntry, LogOrder
from windowing.semantics.revisions import key_of, revisions, row_of, unshown
from windowing.semantics.units import Item, WindowRevision, group_of, part_of
from windowing.semantics.values import Record, ValueReader
from windowing.semantics.view import attribute_of, item_of, items_of, lanes_of
from windowing.semantics.windows import window_joins
from windowing.semantics.windows.active import ActiveDefinition
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.definition import ExtentDefinition
from windowing.semantics.windows.window_joins import with_left_names


class NoWindow(ValueError):
    """A window that cannot be named like this, or of which nothing is known."""

    exit_code = 2


@dataclass(frozen=True)
class WindowRef:
    """A window of a key.

    Attributes:
        query: its query; of a join's window, a query that takes the same records.
        wid: its number; None: it is named by its start.
        start: its start, in the attribute's unit.
        join: the join that has the window; None: a query has.
    """

    query: Query
    wid: int | None
    start: int | None
    key: Key
    join: WindowJoinQuery | None = None

    def seen(self, item: Item) -> Item:
        """Return a record with the fields of the key, whichever side of a join it is of."""
        return item if self.join is None else with_left_names(self.join, item)

    def __contains__(self, shown: WindowRevision) -> bool:
        """Whether a row shows this window."""
        named = shown.start == self.start if self.wid is None else shown.wid == self.wid
        return named and key_of(self.query, shown) == self.key

    @property
    def fields(self) -> dict[str, Scalar]:
        """The fields of the key."""
        return dict(zip(self.query.key, self.key, strict=True))


@dataclass(frozen=True)
class LaneStand:
    """A lane, as the window waits for it.

    Attributes:
        progress: its progress, for the window's key.
        offset, append_us: of the entry that brought it there; None: it has none, or that is
            unknown.
        released_by: the least time of a record that makes the lane pass the window's end; None: no
            record does, it has passed it, or that depends on more than one record.
    """

    name: str
    progress: Progress
    offset: int | None
    append_us: int | None
    released_by: int | None


@dataclass(frozen=True)
class Member:
    """A record of the window.

    Attributes:
        item: the record, with the progress before it.
        revision: the first revision that shows it.
        instant: the progress at which that is sent.
        sent: whether it has been.
    """

    item: Item
    revision: int
    instant: Progress
    sent: bool


@dataclass(frozen=True)
class Why:
    """What is known of a window.

    Attributes:
        wid, start, end: its number and extent.
        closes_at: the progress that closes it; infinity: its rows are counted, or lanes end.
        progress: how far all lanes are, for its key.
        revisions: those sent, each with its number, the instant and the number of records.
        members: its records, in canonical order.
        refused: records that came too late for it, each with what became of it.
        withheld: records of its key and its time that no window sees, each with why.
        unwanted: records within it that a user's class refuses, each with the reason and its words.
        unshown: of the revisions sent, why an aggregate is null although it has records.
        held_back: by revision, what becomes of rows that do not fulfil `having`: true, it is sent
            as a tombstone; false, it is not sent.
        joined: of a join's window, the rows sent.
    """

    sought: WindowRef
    wid: int
    start: int
    end: int
    closes_at: Progress
    progress: Progress
    lanes: Sequence[LaneStand]
    revisions: Sequence[tuple[int, Progress, int]]
    members: Sequence[Member]
    refused: Sequence[tuple[Item, str]]
    unwanted: Sequence[tuple[Item, str, str]]
    unshown: Sequence[tuple[int, str]]
    withheld: Sequence[tuple[Item, str]] = ()
    held_back: Mapping[int, bool] = field(default_factory=dict)
    joined: Sequence[Row] = ()

    @property
    def is_open(self) -> bool:
        """Whether revision 0 is not due yet."""
        return self.progress < self.closes_at

    @property
    def holding_back(self) -> list[LaneStand]:
        """The lanes whose progress the window waits for, the last one first."""
        behind = [lane for lane in self.lanes if lane.progress < self.closes_at]
        return sorted(behind, key=lambda lane: lane.progress)


def why(pipeline: Pipeline, sought: WindowRef, log: Iterable[LogEntry]) -> Why:
    """Explain a window.

    Args:
        log: the log so far, each lane in offset order.

    Raises:
        NoWindow: no record of the key is in such a window, and its extent is unknown.
        BadLogError: not a log of this pipeline.
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """
    read = _LogReader(pipeline, sought)
    for entry in log:
        read.take(entry)
    ended = [replace(lane, progress=math.inf) for lane in read.lanes]
    query, items = sought.query, read.items
    sent = _rows(sought, items, read.lanes, read.newest)
    whole = _rows(sought, items, ended, read.newest)
    place = _place(sought, whole, pipeline.source)
    members, last = dict[tuple[str, int, int], Member](), len(sent)
    for number, row in enumerate(whole):
        for item in row.holds:
            instant = _instant(query, row)
            found = Member(item, row.revision, instant, sent=number < last)
            members.setdefault(item.place, found)
    return Why(
        sought=sought,
        wid=place[0],
        start=place[1],
        end=place[2],
        closes_at=_closes_at(query, place),
        progress=min(lane.of_record(sought.fields) for lane in read.lanes),
        lanes=read.stands(_closes_at(query, place)),
        revisions=[(row.revision, _instant(query, row), len(row.holds)) for row in sent],
        members=sorted(members.values(), key=lambda one: one.item.canonical),
        refused=list(_refused(sought, items, read.lanes, place[0], members)),
        joined=_joined(sought, read.as_they_are, read.lanes, place[0]),
        withheld=[one for one in read.withheld if _lies_in(sought.query, place, one[0])],
        unwanted=list(_unwanted(sought, items, place)),
        unshown=[
            (row.revision, said)
            for row in sent
            for said in unshown(query.aggregates, pipeline.source.fields, row)
        ],
        held_back=_held_back(query, pipeline.source, sent),
    )


class _LogReader:
    def __init__(self, pipeline: Pipeline, sought: WindowRef) -> None:
        source, self._sought = pipeline.source, sought
        self._attribute = attribute_of(sought.query, source)
        self._may_hold = _may_hold(sought)
        self.lanes = lanes_of(source, self._attribute)
        self._readers = [ValueReader(pipeline, number) for number in range(source.partitions)]
        self._order = LogOrder(source)
        self._since: dict[int, LogEntry] = {}
        self.items: list[Item] = []
        self.as_they_are: list[Item] = []
        self.withheld: list[tuple[Item, str]] = []
        self.newest = 0

    def take(self, entry: LogEntry) -> None:
        """Read the next entry."""
        number = self._order.lane_of(entry)
        if number is None:
            return
        lane, fields = self.lanes[number], self._sought.fields
        before = lane.of_record(fields)
        arrivals = follow(lane, [entry], self._readers[number], self._attribute)
        if lane.of_record(fields) > before:
            self._since[number] = entry
        for arrival in arrivals:
            record = arrival.content
            if isinstance(record, Record) and record.withheld is not None:
                item = self._sought.seen(item_of(arrival, record, self._attribute))
                if _is_of(self._sought, item):
                    self.withheld.append((item, _fate(arrival.lane, record)))
        for own in items_of(arrivals, self._attribute):
            item = self._sought.seen(own)
            self.newest = max(self.newest, item.value)
            if not self._may_hold(item):
                continue
            if not self._sought.query.window.traits.per_key or _is_of(self._sought, item):
                self.items.append(item)
                self.as_they_are.append(own)

    def stands(self, closes_at: Progress) -> list[LaneStand]:
        """Return the lanes at the end, for a window that closes then."""
        found = []
        for number, lane in enumerate(self.lanes):
            since, progress = self._since.get(number), lane.of_record(self._sought.fields)
            slack = lane.disorder.slack_us if isinstance(lane.disorder, Slack) else None
            waits = progress < closes_at < math.inf and slack is not None
            released_by = int(closes_at) + (slack or 0) if waits else None
            offset, append_us = (since.offset, since.append_us) if since else (None, None)
            found.append(LaneStand(lane.name, progress, offset, append_us, released_by))
        return found


def _joined(sought: WindowRef, items: Sequence[Item], lanes: Sequence[Lane], wid: int) -> list[Row]:
    if sought.join is None:
        return []
    found = window_joins.rows(sought.join, items, lanes)
    return sorted((row for row in found if row.window_id == wid), key=row_order)


def _may_hold(sought: WindowRef) -> Callable[[Item], bool]:
    definition = definition_of(sought.query)
    if not isinstance(definition, ActiveDefinition):
        return lambda item: True
    if sought.wid is not None:
        numbers = [sought.wid]
    else:
        start = sought.start or 0
        numbers = [wid for wid in definition.wids(start) if definition.extent(wid)[0] == start]
    # What a window shows of a record does not depend on the records that it does not hold.
    return lambda item: any(wid in definition.shown_in(item.value) for wid in numbers)


def _fate(lane: str, record: Record) -> str:
    """Return why no window sees a record."""
    if record.repeats is not None:
        return f"duplicate of {lane} offset {record.repeats}"
    return str(record.withheld)


def _lies_in(query: Query, place: tuple[int, int, int], item: Item) -> bool:
    """Return whether a record would lie in a window; of rows, nobody can tell."""
    _, start, end = place
    return _closes_at(query, place) < math.inf and start <= item.value < end


def _rows(
    sought: WindowRef, items: Sequence[Item], lanes: Sequence[Lane], newest: int
) -> list[WindowRevision]:
    ordered = sorted(items, key=lambda item: item.place)
    found = revisions(sought.query, ordered, lanes, newest)
    return [row for row in found if row in sought and not row.retracts]


def _held_back(query: Query, source: Source, shown: Sequence[WindowRevision]) -> dict[int, bool]:
    """Return which revisions of a window do not fulfil `having`, and whether they withdraw."""
    if query.having is None:
        return {}
    rows = [row_of(query, source, row) for row in shown]
    kept = {row.revision: row for row in sent_of(query, source.fields, rows)}
    return {
        row.revision: row.revision in kept
        for row in rows
        if row.revision not in kept or kept[row.revision].tombstone
    }


def _place(
    sought: WindowRef, rows: Sequence[WindowRevision], source: Source
) -> tuple[int, int, int]:
    """Return number and extent of a window, of which there may be no rows."""
    if rows:
        return rows[0].wid, rows[0].start, rows[0].end
    definition = definition_of(sought.query)
    if sought.wid is not None and isinstance(definition, ExtentDefinition):
        return (sought.wid, *definition.extent(sought.wid))
    timed = sought.query.window.attribute == source.event_time.field
    start = spell_instant(sought.start or 0) if timed else sought.start
    named = f"begins at {start}" if sought.wid is None else f"has the number {sought.wid}"
    msg = (
        f"query {sought.query.name} has no window that {named} and holds a record of key "
        f"{[in_row(part) for part in sought.key]}: look for it with `slackwater newest`"
    )
    raise NoWindow(msg)


def _closes_at(query: Query, place: tuple[int, int, int]) -> Progress:
    # The end of a session of rows is a row's number, which progress says nothing of.
    ends = query.window.traits.ends
    if ends in (Ends.ROWS, Ends.AT_RECORDS) or query.window.attribute == ROW_NUM:
        return math.inf
    return place[2]


def _instant(query: Query, row: WindowRevision) -> Progress:
    if row.release is not None:
        return row.release
    return _closes_at(query, (row.wid, row.start, row.end))


def _refused(
    sought: WindowRef,
    items: Sequence[Item],
    lanes: Sequence[Lane],
    wid: int,
    members: Mapping[tuple[str, int, int], Member],
) -> Iterable[tuple[Item, str]]:
    own = [item for item in items if _is_of(sought, item) and item.place not in members]
    if not own:
        return
    finder = Finder(sought.query, sorted(items, key=lambda item: item.place), lanes)
    for item in sorted(own, key=lambda item: item.canonical):
        found = finder.of(item)
        if wid in found["late"]:
            yield item, str(found["outcome"])


def _unwanted(
    sought: WindowRef, items: Sequence[Item], place: tuple[int, int, int]
) -> Iterable[tuple[Item, str, str]]:
    """Yield the records of the key that a class refuses, and that lie where the window does."""
    _, start, end = place
    for item in sorted(items, key=lambda item: item.canonical):
        if start <= item.value < end and _is_of(sought, item):
            found = refusal(sought.query.aggregates, item.fields)
            if found is not None:
                yield item, f"refused_by:{found[0]}", found[1]


def _is_of(sought: WindowRef, item: Item) -> bool:
    query = sought.query
    part = () if query.window.pattr is None else (part_of(query.window, item),)
    return (*part, *group_of(query, item)) == sought.key
