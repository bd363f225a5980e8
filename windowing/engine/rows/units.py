"""The units of a query of operators, during one step of a shard.

A unit is restored when a record of it is processed, or something is due for it by the clock; the
state of all others stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, Final

import polars as pl

from windowing.engine.columns import AT, OFFSET, PARTITION
from windowing.engine.rows.hosted import Report, UnitHost
from windowing.engine.rows.tuples import PLACE, Place, RecordTuple
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables
from windowing.model.operators.query import OperatorQuery

HELD: Final = "held"
"""The table of records that operators hold."""

UNITS: Final = "units"
"""The table of units: the state of each as JSON, and when something is due by the clock."""

STATE: Final = "state"
DUE: Final = "due"

Unit = tuple[Any, ...]


class Units:
    """The units of one query.

    Args:
        query: the query.
        event_time: the field of the event time.
        columns: those whose values tell units apart; may be empty.
        tables: the state before the step; without tables before the first.
        rows: the records to process, in order.
    """

    def __init__(
        self,
        query: OperatorQuery,
        event_time: str,
        columns: Sequence[str],
        tables: Tables,
        rows: pl.DataFrame,
    ) -> None:
        self._query, self._event_time, self._columns = query, event_time, list(columns)
        self._held = tables.get(HELD, rows.clear())
        self._stored = tables.get(UNITS)
        self._new = rows
        self._hosts: dict[Unit, UnitHost] = {}
        self._dropped: set[Unit] = set()

    @cached_property
    def records(self) -> pl.DataFrame:
        """All records that reports may hold."""
        return pl.concat([self._held, self._new], how="vertical")

    @cached_property
    def _tuples(self) -> dict[Place, RecordTuple]:
        """The records that operators hold, by place."""
        return {row[PLACE]: row for row in _tuples(self._held)}

    @cached_property
    def _states(self) -> dict[Unit, tuple[str, int]]:
        """State and due instant of the stored units."""
        stored = self._stored
        if stored is None:
            return {}
        units = stored.select(self._columns).rows() if self._columns else [()] * len(stored)
        return dict(zip(units, zip(stored[STATE], stored[DUE], strict=True), strict=True))

    def fed(self) -> Iterator[tuple[UnitHost, RecordTuple, int]]:
        """Yield each record to process, with its unit and its time."""
        units = self._new.select(self._columns).rows() if self._columns else None
        at = self._new[AT].to_list()
        for number, row in enumerate(_tuples(self._new)):
            unit = () if units is None else units[number]
            yield self.host(unit, at[number]), row, at[number]

    def host(self, unit: Unit, began_us: int) -> UnitHost:
        """Return the operators of a unit: running, restored, or new."""
        found = self._hosts.get(unit)
        if found is None:
            if unit in self._states:
                state, _ = self._states[unit]
                found = UnitHost.restored(self._query, self._event_time, state, self._tuples)
            else:
                found = UnitHost(self._query, self._event_time, began_us)
            self._hosts[unit] = found
        return found

    def due(self, by_us: int) -> list[UnitHost]:
        """Return the units with something due by an instant, and those that are running."""
        for unit, (_, due_us) in self._states.items():
            if due_us <= by_us:
                self.host(unit, by_us)
        return list(self._hosts.values())

    def ended(self, lanes: frozenset[int] | None) -> list[UnitHost]:
        """Return the units of ended lanes, in lane order, and drop their state; None: all."""
        ended = [
            unit for unit in {**self._states, **self._hosts} if lanes is None or unit[0] in lanes
        ]
        self._dropped.update(ended)
        return [self.host(unit, 0) for unit in ended]

    @property
    def reports(self) -> list[Report]:
        """What the units have sent in this step."""
        return [report for host in self._hosts.values() for report in host.reports]

    def tables(self) -> Tables:
        """Return the state after the step."""
        kept = set[Place]()
        states = {unit: state for unit, state in self._states.items() if unit not in self._hosts}
        for unit, host in self._hosts.items():
            if unit not in self._dropped:
                state, places = host.snapshot()
                due_us = host.next_due_us()
                states[unit] = state, ENDED if due_us is None else due_us
                kept |= places
        return {UNITS: self._table(states), HELD: self._still_held(kept)}

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

    def _still_held(self, kept: set[Place]) -> pl.DataFrame:
        """Return the records that units hold: as before, or those in the new states."""
        touched = set(self._hosts)
        places = self.records.select(PARTITION, OFFSET).iter_rows()
        units = self.records.select(self._columns).iter_rows() if self._columns else repeat(())
        old = len(self._held)
        stays = [
            place in kept if unit in touched else number < old
            for number, (place, unit) in enumerate(zip(places, units, strict=False))
        ]
        return self.records.filter(pl.Series(stays, dtype=pl.Boolean))


def _tuples(rows: pl.DataFrame) -> Iterator[RecordTuple]:
    """Return records as tuples of operators."""
    for columns in rows.iter_rows(named=True):
        columns[PLACE] = (columns[PARTITION], columns[OFFSET])
        yield RecordTuple(columns)
