"""Rows that progress has not reached yet, and the record that triggers each."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

from windowing.model.file.pipeline import Query
from windowing.model.rows import Scalar
from windowing.model.rules import in_log_order
from windowing.model.source import Source
from windowing.model.windows.traits import Ends
from windowing.semantics.having import sent_revisions
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.revisions import key_of, revisions, units_of
from windowing.semantics.units import Item, WindowRevision, part_of
from windowing.semantics.windows.classes import extents_of
from windowing.semantics.windows.tuples import RowDefinition

Line = dict[str, Any]


class PendingRows:
    """The rows of a log that are not due yet.

    Args:
        queries: queries over one attribute.
        source: of the pipeline.
        attr: the field whose values have their own progress; None: only lanes do.
        items: the valid records of the log, each lane's in offset order.
        lanes: all lanes, at the end of the log.

    Raises:
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        source: Source,
        attr: str | None,
        items: Sequence[Item],
        lanes: Sequence[Lane],
    ) -> None:
        self._attr = attr
        # Per key with its own progress: (instant, number, query, row).
        self._heaps: dict[Scalar, list[tuple[Progress, int, Query, WindowRevision]]] = {}
        # Rows that are due with a record, by its partition and offset.
        self._completed: dict[tuple[int, int], list[tuple[Query, WindowRevision]]] = defaultdict(
            list
        )
        numbers = count()
        for query in queries:
            rows = _rows_of_units(query, items, lanes)
            for shown in sent_revisions(query, source, revisions(query, items, lanes)):
                if shown.retracts:
                    continue
                unit = rows.get(shown.part, ())
                count_ = _count(shown) if in_log_order(query.window) else math.inf
                if count_ <= len(unit):
                    last = unit[int(count_) - 1]
                    self._completed[last.partition, last.offset].append((query, shown))
                    continue
                # What has its own progress is part of a row's key.
                named = dict(zip(query.key, key_of(query, shown), strict=True))
                key = None if self._attr is None else named[self._attr]
                row = (_instant(query, shown, unit), next(numbers), query, shown)
                heapq.heappush(self._heaps.setdefault(key, []), row)

    def reached(
        self, lanes: Sequence[Lane], place: tuple[int, int]
    ) -> list[tuple[Query, WindowRevision]]:
        """Return the rows that become due with a record.

        Args:
            lanes: the lanes after the record.
            place: partition and offset of the record.
        """
        due = self._completed.pop(place, [])
        for key, heap in self._heaps.items():
            fields = {} if self._attr is None else {self._attr: key}
            progress = min(lane.of_record(fields) for lane in lanes)
            while heap and heap[0][0] <= progress:
                _, _, query, shown = heapq.heappop(heap)
                due.append((query, shown))
        return due


def _rows_of_units(
    query: Query, items: Sequence[Item], lanes: Sequence[Lane]
) -> dict[Scalar, Sequence[Item]]:
    """Return, for windows over rows, each PATTR value's records in the order of their numbers."""
    window, units = query.window, units_of(query, items, lanes)
    if window.traits.ends is Ends.ROWS:
        definition = RowDefinition(query)
        return {part_of(window, unit.items[0]): definition.numbered(unit) for unit in units}
    if in_log_order(window):
        return {part_of(window, unit.items[0]): unit.items for unit in units}
    return {}


def _count(shown: WindowRevision) -> int:
    """Return how many rows of its unit make a row due, if rows are counted on arrival."""
    return shown.end if shown.release is None else shown.release


def _instant(query: Query, shown: WindowRevision, unit: Sequence[Item]) -> Progress:
    """Return the progress at which a row is due; infinity: the end of all lanes."""
    if in_log_order(query.window):
        return math.inf
    if shown.release is not None:
        return shown.release
    return extents_of(query).closes_at(shown.wid, unit)


def spelled(due: Sequence[tuple[Query, WindowRevision]]) -> Line:
    """Return due rows in a trace's format."""
    closed: dict[str, set[int]] = {}
    revised: dict[str, list[Line]] = {}
    for query, shown in due:
        if shown.revision == 0:
            closed.setdefault(query.name, set()).add(shown.wid)
            continue
        key = list(key_of(query, shown))
        row = {"window": shown.wid, "key": key, "revision": shown.revision}
        if shown.absorbed_by is not None:
            row["absorbed_by"] = shown.absorbed_by
        revised.setdefault(query.name, []).append(row)
    line: Line = {}
    if closed:
        line["closed"] = {query: sorted(ids) for query, ids in closed.items()}
    if revised:
        line["revised"] = revised
    return line
