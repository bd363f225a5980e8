"""The operators of one unit of a query: a chain, fed record by record.

What an operator sends enters the next one at the instant of its clock; what the last one sends are
the unit's reports. Order, clock and numbers: `windowing/adr/0022`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from windowing.engine.columns import VALUES
from windowing.engine.rows.operators import Punctuation, Sent
from windowing.engine.rows.stages import Stage
from windowing.engine.rows.tuples import PLACE, Place, RecordTuple, Scalar
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, Condition, Punctuate

_REFERENCE: Final = "record"


@dataclass(frozen=True)
class Report:
    """What a unit's operators send: a row, or the row of one group.

    Attributes:
        number: of the report within its unit.
        places: its records, in order of arrival; at least one.
        values: what a user's operator shows; None: what follows from the records.
    """

    number: int
    places: list[Place]
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

        def take(sent: Sent, now_us: int) -> None:
            if number < len(self._stages):
                self._stages[number].take(sent, now_us)
            else:
                self._report(sent)

        return take

    def insert(self, row: RecordTuple, at_us: int) -> None:
        """Process a record at an instant; a clock never goes back."""
        self.clock_us = max(self.clock_us, at_us)
        self.advance(self.clock_us)
        self._stages[0].take(Sent(0, row), self.clock_us)

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

    def _report(self, sent: Sent) -> None:
        """Number what the last operator sends: reports with groups, or tuples one by one."""
        if isinstance(sent.item, Punctuation):
            self._number += self._reporting
            self._reporting = False
            return
        places = sent.item[PLACE]
        if self._grouped:
            self._reporting = True
            self.reports.append(Report(self._number, places))
            return
        values = sent.item.get(VALUES)
        self.reports.append(
            Report(self._number, [places] if isinstance(places, tuple) else places, values)
        )
        self._number += 1

    def snapshot(self) -> tuple[str, set[Place]]:
        """Return the state as JSON, with places instead of records, and these places."""
        held = set[Place]()

        def reference(row: RecordTuple) -> dict[str, Place]:
            held.add(row[PLACE])
            return {_REFERENCE: row[PLACE]}

        state = {
            "began": self._began_us,
            "clock": self.clock_us,
            "number": self._number,
            "stages": [stage.snapshot() for stage in self._stages],
        }
        return json.dumps(state, default=reference, separators=(",", ":")), held

    @classmethod
    def restored(
        cls, query: OperatorQuery, event_time: str, state: str, rows: Mapping[Place, RecordTuple]
    ) -> UnitHost:
        """Restore a snapshot.

        Args:
            query: what its operators are.
            event_time: the field of the event time.
            state: the snapshot's JSON.
            rows: the records in it, by place.
        """

        def record(value: dict[str, Any]) -> Any:
            return rows[tuple(value[_REFERENCE])] if _REFERENCE in value else value

        found = json.loads(state, object_hook=record)
        host = cls(query, event_time, found["began"])
        host.clock_us, host._number = found["clock"], found["number"]
        for stage, own in zip(host._stages, found["stages"], strict=True):
            stage.restore(own, host.clock_us)
        return host
