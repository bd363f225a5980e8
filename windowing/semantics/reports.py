"""Reports of a query of operators, as a trace shows them: which hold a record, and what sends them.

In canonical order, a report is sent once the stream's progress has passed the record that causes
it, or reached its instant of the clock. In lane order, it is sent with a record of its lane: the
one that causes it, or the first with which the clock shows that instant.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

from windowing.model.fates import APPLIED, DROPPED
from windowing.model.operators.query import OperatorQuery
from windowing.semantics.aggregates import refused_by
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.units import Item
from windowing.semantics.windows.operators import (
    OperatorDefinition,
    OperatorUnit,
    ReportedRow,
    operator_units,
    reported,
)

Line = dict[str, Any]
Place = tuple[str, int, int]


class Reports:
    """The reports of a query over a whole log.

    Args:
        event_time: the field of the event time.
        items: the valid records of the log, each lane's in offset order.
        lanes: all lanes, at the end of the log.
    """

    def __init__(
        self, query: OperatorQuery, event_time: str, items: Sequence[Item], lanes: Sequence[Lane]
    ) -> None:
        self._query, self._definition = query, OperatorDefinition(query)
        # Of each processed record: its number within its unit, and the rows that hold it.
        self._numbers: dict[Place, int] = {}
        self._holding: dict[Place, list[ReportedRow]] = defaultdict(list)
        # Rows that progress sends, by its value; and those that records or ends of lanes send.
        self._awaited: list[tuple[Progress, int, ReportedRow]] = []
        self._sent_with: dict[Place | str, list[ReportedRow]] = defaultdict(list)
        numbers = count()
        for unit in operator_units(query, items, lanes):
            self._numbers |= {item.place: number for number, item in enumerate(unit.items)}
            for row in reported(query, event_time, unit):
                for item in row.items:
                    self._holding[item.place].append(row)
                if query.order == "lane":
                    self._sent_with[_sender(row, unit)].append(row)
                else:
                    heapq.heappush(self._awaited, (_instant(row), next(numbers), row))

    def of(self, item: Item) -> Line:
        """Return what a trace says of one record."""
        line: Line = {
            "unit": [item.fields[name] for name in self._query.unit],
            "number": self._numbers.get(item.place),
            "reports": [spelled(row) for row in self._holding[item.place]],
        }
        return {**line, "outcome": self._outcome(item)}

    def _outcome(self, item: Item) -> str:
        if (name := refused_by(self._query.aggregates, item.fields)) is not None:
            return f"refused_by:{name}"
        if self._definition.lateness(item) is not None:
            return self._query.late.letter or DROPPED.name
        return APPLIED.name if item.place in self._numbers else "waiting"

    def reached(self, lanes: Sequence[Lane], place: Place) -> list[ReportedRow]:
        """Return the rows that are sent with an entry of the log.

        Args:
            lanes: the lanes after the entry.
        """
        sent = self._sent_with.pop(place, [])
        for lane in lanes:
            if lane.progress == math.inf:
                sent += self._sent_with.pop(lane.name, [])
        progress = min(lane.progress for lane in lanes)
        while self._awaited and self._awaited[0][0] <= progress:
            sent.append(heapq.heappop(self._awaited)[2])
        return sent


def spelled(row: ReportedRow) -> Line:
    """Return the identity of a row in a trace's format, and why it has no values."""
    failed = {} if row.failed is None else {"failed": row.failed}
    return {"window": row.number, "key": list(row.key), **failed}


def _instant(row: ReportedRow) -> Progress:
    return row.cause.value + 1 if isinstance(row.cause, Item) else row.cause


def _sender(row: ReportedRow, unit: OperatorUnit) -> Place | str:
    """Return the record that sends a row in lane order, or the lane whose end does."""
    if isinstance(row.cause, Item):
        return row.cause.place
    later = (item.place for item in unit.items if item.value >= row.cause)
    return next(later, unit.items[0].lane)
