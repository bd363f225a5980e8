"""Parts of a log: records that decide some of a query's rows without any others.

A record's fate follows from its lane's progress before it. A row follows from the records of its
unit and from the lanes at the end; often those of its key are enough, and those of its window, if
windows follow from a record's value. So a log that no memory holds is followed record by record
(`Stream`), divided into parts (`Division`), and evaluated part by part (`evaluate_part`):

    evaluate(log).rows  =  the union over all parts of their rows

A part is a path: the hash of key and block of windows at each depth. Parts of one depth share no
row, and a part that is too large is divided again at the next depth, by smaller blocks.

A log that grows may also be evaluated in ranges. A range has the rows of the log up to its end that
the log up to its start does not have, since no row is ever taken back:

    rows of a range  =  evaluate(log up to its end).rows - evaluate(log up to its start).rows

Of the records before the range, those matter that may still be in such a row (`open_items`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Key, Row, Scalar
from windowing.semantics.arrivals import ReadRecord, follow
from windowing.semantics.definition import outcomes
from windowing.semantics.flow_kinds import meaning_of
from windowing.semantics.having import sent
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.log import LogEntry
from windowing.semantics.revisions import key_of, revisions, row_of
from windowing.semantics.units import Item
from windowing.semantics.values import ValueReader
from windowing.semantics.view import View, items_of, lanes_of
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.sessions import SessionDefinition

FANOUT: Final = 64
"""Number of parts into which one is divided."""

_BLOCKS: Final = (1024, 64, 8, 1)
"""Windows in a block, by depth; each a multiple of the next."""

DEPTH_MAX: Final = len(_BLOCKS)
"""Longest path of a part."""

Outcomes = tuple[list[DeadLetter], Mapping[str, int]]
"""What `outcomes` returns."""

Path = tuple[int, ...]
"""The place of a part: a number below `FANOUT` for each depth."""


class Stream:
    """A log followed along one attribute, record by record, keeping none.

    Args:
        attribute: the attribute; None: the event time.

    Attributes:
        attribute: the attribute.
        lanes: all lanes after the entries so far.
        newest: the largest value so far; None: there was no valid record.
    """

    def __init__(self, pipeline: Pipeline, attribute: str | None) -> None:
        self.attribute = attribute
        self.lanes = lanes_of(pipeline.source, attribute)
        self.newest: int | None = None
        self._readers = [ValueReader(pipeline, number) for number in range(len(self.lanes))]

    def step(self, number: int, entry: LogEntry) -> tuple[list[ReadRecord], list[Item]]:
        """Follow a lane's next entry; return it as `View` would hold it, if it is a data record.

        Args:
            entry: the entry; not a redelivery.
        """
        arrivals = follow(self.lanes[number], [entry], self._readers[number], self.attribute)
        items = items_of(arrivals, self.attribute)
        for item in items:
            self.newest = item.value if self.newest is None else max(self.newest, item.value)
        return arrivals, items

    def state(self) -> list[Any]:
        """Return all that the entries so far have left, as JSON values.

        Raises:
            HiddenStateError: a plug-in's generator may keep anything.
        """
        return [self.newest, [lane.state() for lane in self.lanes]]

    def go_on(self, state: list[Any]) -> None:
        """Go on where a stream with this `state()` was."""
        self.newest, lanes = state
        for lane, one in zip(self.lanes, lanes, strict=True):
            lane.go_on(one)

    def view(self, items: list[Item]) -> View:
        """Return a part of the log as windows see it once the whole log has been followed.

        Args:
            items: the part's records, lane by lane in offset order.
        """
        return View([], items, self.lanes, self.newest or 0)


class Division:
    """How the records of a query are divided into parts."""

    def __init__(self, query: Flow) -> None:
        self._query, self._meaning = query, meaning_of(query)
        definition = self._meaning.definition
        self._by_value = definition if isinstance(definition, ByValueDefinition) else None
        self._sessions = definition if isinstance(definition, SessionDefinition) else None
        self._fields: dict[str, Sequence[str]] = {}

    def paths(self, item: Item, depth: int) -> list[Path]:
        """Return the parts that need a record, without repetition; the first one counts it.

        Args:
            depth: the length of the paths.
        """
        if item.source not in self._fields:
            self._fields[item.source] = self._meaning.unit_fields(item.source)
        key = tuple(item.fields[name] for name in self._fields[item.source])
        if self._by_value is None or not (wids := self._by_value.shown_in(item.value)):
            return [_path(key, 0, depth)]
        block = _BLOCKS[depth - 1]
        firsts = range(wids[0] // block * block, wids[-1] + 1, block)
        return list(dict.fromkeys(_path(key, wid, depth) for wid in firsts))

    def decides(self, path: Path, key: Key, wid: int) -> bool:
        """Return whether a part has all records of a window of one key, if it has any."""
        if self._by_value is None:
            return True
        block = _BLOCKS[len(path) - 1]
        return _path(key, wid // block * block, len(path)) == path

    def open_items(self, items: Sequence[Item], lanes: Sequence[Lane]) -> list[Item]:
        """Return the records of a part that may be in rows that are still to come.

        Args:
            items: the part's records.
            lanes: all lanes after the log so far.
        """
        if self._sessions is not None:
            units: dict[Key, list[Item]] = defaultdict(list)
            for item in items:
                units[tuple(item.fields[name] for name in self._query.key)].append(item)
            return [
                item
                for unit in units.values()
                for item in self._sessions.unfinished(unit, _progress(unit[0].fields, lanes))
            ]
        return [item for item in items if self._is_open(item, _progress(item.fields, lanes))]

    def is_done(self, key: Key, wid: int, end: int, lanes: Sequence[Lane]) -> bool:
        """Return whether all rows of a window of one key, if there are any, have been sent.

        Args:
            key: as in rows; of the types of the query's key.
            end: where a row says that it ends.
            lanes: all lanes after the log so far.
        """
        if self._by_value is None and self._sessions is None:
            return all(lane.progress == math.inf for lane in lanes)
        progress = _progress(dict(zip(self._query.key, key, strict=True)), lanes)
        if self._sessions is not None:
            return self._sessions.is_over(end, self._sessions.gap_of(key), progress)
        return self._is_over(wid, progress)

    def _is_open(self, item: Item, progress: Progress) -> bool:
        if self._by_value is None:
            return progress < math.inf
        return any(not self._is_over(wid, progress) for wid in self._by_value.shown_in(item.value))

    def _is_over(self, wid: int, progress: Progress) -> bool:
        if progress == math.inf or self._by_value is None:
            return progress == math.inf
        late, retention_us = self._query.late, self._query.retention_us
        end = self._by_value.extent(wid)[1]
        if late.every_us is None:
            return progress >= end
        # The last late record comes before end + retention, and is shown an epoch later at most.
        return retention_us is not None and progress >= end + retention_us + late.every_us

    def rows(
        self, pipeline: Pipeline, view: View, path: Path, start: Sequence[Lane] = ()
    ) -> Iterator[Row]:
        """Yield the rows that a part decides.

        Args:
            view: the part's records.
            start: all lanes where a range begins; windows that were done there are left out, whose
                records are not all here.

        Raises:
            ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
        """
        query, source = self._query, pipeline.source
        if self._by_value is None:
            yield from self._meaning.rows(source, view)
            return
        assert isinstance(query, Query)  # noqa: S101 - no other flow is defined by value
        # Of windows in other parts, not all records are here.
        decided = (
            row_of(query, source, shown)
            for shown in revisions(query, view.items, view.lanes, view.newest)
            for key in (key_of(query, shown),)
            if not (start and self.is_done(key, shown.wid, shown.end, start))
            if self.decides(path, key, shown.wid)
        )
        yield from sent(query, source.fields, decided)


@dataclass(frozen=True)
class PartOutcome:
    """What a part of a log yields for one query.

    Attributes:
        rows: the rows, in no order.
        before: the rows of the same records that the log had before the range.
        outcomes: the query's own dead letters, in no order, and its numbers of records.
    """

    rows: list[Row]
    before: list[Row]
    outcomes: Outcomes


def evaluate_part(
    pipeline: Pipeline, query: Flow, view: View, path: Path, before: View | None = None
) -> PartOutcome:
    """Return what one part of a log yields, or of a range of it.

    Args:
        view: the records whose `Division.paths` have this path, of a log followed to its end.
        before: its records before the range, with the lanes at the range's start; None: the range
            is the whole log.

    Raises:
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """
    division = Division(query)
    start = () if before is None else before.lanes
    sent = [] if before is None else list(division.rows(pipeline, before, path, start))
    known = {_identity(row) for row in sent}
    rows = [
        row for row in division.rows(pipeline, view, path, start) if _identity(row) not in known
    ]
    return PartOutcome(rows, sent, part_outcomes(query, view, path, before))


def part_outcomes(query: Flow, view: View, path: Path, before: View | None = None) -> Outcomes:
    """Return what becomes of the records of a part; arguments as of `evaluate_part`."""
    division = Division(query)
    earlier = set() if before is None else {item.place for item in before.items}
    own = (
        item
        for item in view.items
        if item.place not in earlier and division.paths(item, len(path))[0] == path
    )
    return outcomes(query, own)


def _progress(fields: Mapping[str, Scalar], lanes: Sequence[Lane]) -> Progress:
    return min(lane.of_record(fields) for lane in lanes)


def _identity(row: Row) -> tuple[object, ...]:
    return row.window_id, row.key, row.pane, row.revision, row.retracts


@lru_cache(maxsize=1 << 16)
def _path(key: Key, wid: int, depth: int) -> Path:
    # Equal values have equal hashes: 1 and 1.0 may meet in a join.
    equal = [float(value) if isinstance(value, int) else value for value in key]
    return tuple(
        crc32(f"{at} {wid // block} {equal!r}".encode("utf-8", "surrogatepass")) % FANOUT
        for at, block in enumerate(_BLOCKS[:depth])
    )
