"""The units of a query of operators, during one step of a shard, and the operators of one unit.

A unit is restored when a record of it is processed, or something is due for it by the clock; the
state of all others stays as it is. Its operators are a chain, fed record by record: what one sends
enters the next at the instant of its clock; what the last one sends are the unit's reports. Order,
clock and numbers: `windowing/adr/0022`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl

from windowing.engine.columns import VALUES
from windowing.engine.rows.operators import PortOutput, Punctuation
from windowing.engine.rows.stages import (
    ROW,
    Place,
    RecordTuple,
    Scalar,
    Stage,
    needs_clock,
    places,
    tuples,
)
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, Condition, Punctuate

HELD: Final = "held"
"""The table of records that operators hold."""

UNITS: Final = "units"
"""The table of units: the state of each as JSON, and when something is due by the clock."""

STATE: Final = "state"
DUE: Final = "due"

Unit = tuple[Any, ...]
"""What distinguishes a unit: the values of some columns."""


class Units:
    """The units of one query.

    Args:
        columns: those whose values distinguish units; may be empty.
        read: the columns that operators read.
        tables: the state before the step; without tables before the first.
        new: the records to process, in order.

    Attributes:
        records: all records that reports may hold: those held before the step, then the new ones.
    """

    def __init__(
        self,
        query: OperatorQuery,
        event_time: str,
        columns: Sequence[str],
        read: Sequence[str],
        *,
        tables: Tables,
        new: pl.DataFrame,
    ) -> None:
        self._query, self._event_time = query, event_time
        self._columns, self._read = list(columns), read
        self._held, self._new = tables.get(HELD, new.clear()), new
        self.records = pl.concat([self._held, new], how="vertical")
        self._stored = tables.get(UNITS)
        self._hosts: dict[Unit, UnitHost] = {}
        self._ended: set[Unit] = set()
        # Which of the records are still held after the step.
        self._stays = np.arange(len(self.records)) < len(self._held)

    def feed(self, at_us: Sequence[int]) -> None:
        """Process the new records, unit by unit.

        Args:
            at_us: the instant of each.
        """
        rows = list(tuples(self._new, self._read, len(self._held)))
        grouped: dict[Unit, list[int]] = {}
        for number, unit in enumerate(self._units_of(self._new)):
            grouped.setdefault(unit, []).append(number)
        for unit, numbers in grouped.items():
            host = self._host(unit, at_us[numbers[0]])
            host.feed([rows[number] for number in numbers], [at_us[number] for number in numbers])

    def advance(self, to_us: int) -> None:
        """Do everything due up to an instant."""
        for unit, (_, due_us) in self._states.items():
            if due_us <= to_us:
                self._host(unit, to_us)
        for host in self._hosts.values():
            host.advance(to_us)

    def finish(self, lanes: frozenset[int] | None) -> None:
        """Process the end of lanes, in lane order, and drop the state of their units.

        Args:
            lanes: which; None: all, in canonical order.
        """
        for unit in {**self._states, **self._hosts}:
            if lanes is None or unit[0] in lanes:
                self._ended.add(unit)
                self._host(unit, 0).finish()

    @property
    def reports(self) -> list[Report]:
        """What the units have sent in this step."""
        return [report for host in self._hosts.values() for report in host.reports]

    def tables(self) -> Tables:
        """Return the state after the step."""
        known = places(self.records)
        states = {unit: state for unit, state in self._states.items() if unit not in self._hosts}
        for unit, host in self._hosts.items():
            if unit in self._ended:
                continue
            state, held = host.snapshot(known)
            due_us = host.next_due_us()
            states[unit] = state, ENDED if due_us is None else due_us
            self._stays[held] = True
        return {UNITS: self._table(states), HELD: self.records.filter(pl.Series(self._stays))}

    # --- the state before the step ------------------------------------------------------------

    @cached_property
    def _states(self) -> dict[Unit, tuple[str, int]]:
        stored = self._stored
        if stored is None:
            return {}
        states = zip(stored[STATE].to_list(), stored[DUE].to_list(), strict=True)
        return dict(zip(self._units_of(stored), states, strict=True))

    @cached_property
    def _tuples(self) -> dict[Place, RecordTuple]:
        """The records that operators held, by place."""
        return dict(zip(places(self._held), tuples(self._held, self._read, 0), strict=True))

    def _units_of(self, frame: pl.DataFrame) -> list[Unit]:
        if not self._columns:
            return [()] * len(frame)
        return list(zip(*(frame[column].to_list() for column in self._columns), strict=True))

    def _host(self, unit: Unit, began_us: int) -> UnitHost:
        found = self._hosts.get(unit)
        if found is None:
            if unit in self._states:
                state, _ = self._states[unit]
                found = UnitHost.restored(self._query, self._event_time, state, self._taken)
            else:
                found = UnitHost(self._query, self._event_time, began_us)
            self._hosts[unit] = found
        return found

    def _taken(self, place: Place) -> RecordTuple:
        """Return a record that a restored unit held; what it will hold is known after the step."""
        record = self._tuples[place]
        self._stays[record[ROW]] = False
        return record

    def _table(self, states: dict[Unit, tuple[str, int]]) -> pl.DataFrame:
        units = [[unit[n] for unit in states] for n in range(len(self._columns))]
        dtypes = self._new.schema
        return pl.DataFrame(
            [
                *(
                    pl.Series(column, values, dtype=dtypes[column])
                    for column, values in zip(self._columns, units, strict=True)
                ),
                pl.Series(STATE, [state for state, _ in states.values()], dtype=pl.String),
                pl.Series(DUE, [due_us for _, due_us in states.values()], dtype=pl.Int64),
            ]
        )


_REFERENCE: Final = "record"


@dataclass(frozen=True)
class Report:
    """What a unit's operators send: a row, or the row of one group.

    Attributes:
        number: of the report within its unit.
        rows: its records in the step's table, in order of arrival; at least one.
        values: what a user's operator shows; None: its handler failed, or what is shown follows
            from the records.
    """

    number: int
    rows: list[int]
    values: dict[str, Scalar] | None = None


class UnitHost:
    """The operators of one unit.

    Args:
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
