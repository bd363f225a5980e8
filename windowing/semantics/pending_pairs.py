"""Rows of a window join that progress has not reached yet, and the record that triggers each."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from windowing.model.rows import in_row
from windowing.model.window_join import WindowJoinQuery
from windowing.semantics.found import Finder
from windowing.semantics.lanes import Lane
from windowing.semantics.units import Item
from windowing.semantics.windows.joins import key_of_pair
from windowing.semantics.windows.window_joins import WindowJoinRow, as_query, sent

Line = dict[str, Any]


class PendingPairs:
    """The rows of a window join over a whole log.

    Args:
        items: the valid records of the log.
    """

    def __init__(self, join: WindowJoinQuery, items: Sequence[Item]) -> None:
        self._join = join
        self._finder = Finder(as_query(join), [], [])
        self._rows = deque(sorted(sent(join, items), key=lambda row: row.instant))

    def of(self, item: Item) -> Line:
        """Return windows, late ones, slices and outcome of one record, in a trace's format."""
        return self._finder.of(item)

    def reached(self, lanes: Sequence[Lane]) -> list[Line]:
        """Return the rows that become due with a record.

        Args:
            lanes: the lanes after the record.
        """
        progress, due = min(lane.progress for lane in lanes), list[Line]()
        while self._rows and self._rows[0].instant <= progress:
            due.append(self._spelled(self._rows.popleft()))
        return due

    def _spelled(self, row: WindowJoinRow) -> Line:
        key = key_of_pair(self._join, {side: one.item for side, one in row.members.items()})
        revision = int(any(one.late for one in row.members.values()))
        line: Line = {"window": row.wid, "key": [*map(in_row, key)], "revision": revision}
        return {**line, "op": "retract"} if row.retracts else line
