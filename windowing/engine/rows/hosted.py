"""The operators of one unit of a query: a chain, fed record by record.

What an operator sends enters the next one at the instant of its clock; what the last one sends are
the unit's reports. Order, clock and numbers: `windowing/adr/0022`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windowing.engine.columns import VALUES
from windowing.engine.rows.operators import PortOutput, Punctuation
from windowing.engine.rows.stages import ROW, Place, RecordTuple, Scalar, Stage, needs_clock
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, Condition, Punctuate

_REFERENCE: Final = "record"


@dataclass(frozen=True)
class Report:
    """What a unit's operators send: a row, or the row of one group.

    Attributes:
        number: of the report within its unit.
        rows: its records in the step's table, in order of arrival; at least one.
        values: what a user's operator shows; None: what follows from the records.
    """

    number: int
    rows: list[int]
    values: dict[str, Scalar] | None = None


class UnitHost:
    """The operators of one unit.

    Args:
        query: what they are.
        event_time: the field of the event time.
        began_us: the instant of the unit's first record.

    Attributes:
        reports: what they have sent since they were built.
        clock_us: the instant of the last record.
    """

    def __init__(self, query: OperatorQuery, event_time: str, began_us: int) -> None:
        self.reports: list[Report] = []
        self.clock_us = self._began_us = began_us
        self._grouped = isinstance(query.last, AggregateStep)
        self._number, self._reporting = 0, False
        self._stages: list[Stage] = []
        self._timed = any(needs_clock(step.window) for step in query.windows)
        condition: Condition | None = None
        for step in query.steps:
            if isinstance(step, Punctuate):
                condition = step.when
                continue
            take = self._passing(len(self._stages) + 1)
            self._stages.append(Stage(step, condition, event_time, began_us, take))
            condition = None

    def _passing(self, number: int) -> Any:
        """Return what passes tuples on to a stage, or takes them after the last one."""

        def take(sent: PortOutput, now_us: int) -> None:
            if number < len(self._stages):
                self._stages[number].take(sent, now_us)
            else:
                self._report(sent)

        return take

    def feed(self, rows: Iterable[RecordTuple], at_us: Iterable[int]) -> None:
        """Process records, each at its instant; a clock never goes back."""
        insert = self._stages[0].insert
        for row, us in zip(rows, at_us, strict=True):
            self.clock_us = max(self.clock_us, us)
            if self._timed:
                self.advance(self.clock_us)
            insert(row, self.clock_us)

    def advance(self, to_us: int) -> None:
        """Do everything due up to an instant, the first operators first."""
        for stage in self._stages:
            stage.tick(to_us)

    def finish(self) -> None:
        """Process the end of the stream, SPL's final marker."""
        for stage in self._stages:
            stage.finish()

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""
        due = [us for stage in self._stages if (us := stage.next_due_us()) is not None]
        return min(due, default=None)

    def _report(self, sent: PortOutput) -> None:
        """Number what the last operator sends: reports with groups, or tuples one by one."""
        if isinstance(sent.item, Punctuation):
            self._number += self._reporting
            self._reporting = False
            return
        rows = sent.item[ROW]
        if self._grouped:
            self._reporting = True
            self.reports.append(Report(self._number, rows))
            return
        values = sent.item.get(VALUES)
        self.reports.append(Report(self._number, [rows] if isinstance(rows, int) else rows, values))
        self._number += 1

    def snapshot(self, places: Sequence[Place]) -> tuple[str, list[int]]:
        """Return the state as JSON, with places instead of records, and the rows of these records.

        Args:
            places: of the records in the step's table.
        """
        held = list[int]()

        def referring(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [referring(one) for one in value]
            if not isinstance(value, dict):
                return value
            if ROW in value:
                held.append(value[ROW])
                return {_REFERENCE: places[value[ROW]]}
            return {name: referring(one) for name, one in value.items()}

        state = {
            "began": self._began_us,
            "clock": self.clock_us,
            "number": self._number,
            "stages": [referring(stage.snapshot()) for stage in self._stages],
        }
        return json.dumps(state, separators=(",", ":")), held

    @classmethod
    def restored(
        cls,
        query: OperatorQuery,
        event_time: str,
        state: str,
        record: Callable[[Place], RecordTuple],
    ) -> UnitHost:
        """Restore a snapshot.

        Args:
            query: what its operators are.
            event_time: the field of the event time.
            state: the snapshot's JSON.
            record: gives the record of a place.
        """

        def resolved(value: dict[str, Any]) -> Any:
            return record(tuple(value[_REFERENCE])) if _REFERENCE in value else value

        found = json.loads(state, object_hook=resolved)
        host = cls(query, event_time, found["began"])
        host.clock_us, host._number = found["clock"], found["number"]
        for stage, own in zip(host._stages, found["stages"], strict=True):
            stage.restore(own, host.clock_us)
        return host
