"""Window assignment of a record in one query: its windows, those it is late for, its outcome.

For some classes a record's windows are known on arrival. For others they depend on later records,
which define windows or decide the record's rank. The whole log gives them for all classes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from windowing.model.file.pipeline import Query
from windowing.semantics.definition import fate_of
from windowing.semantics.lanes import Lane
from windowing.semantics.revisions import revisions, units_of
from windowing.semantics.units import Item, Unit, Verdict
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.classes import definition_of, extents_of

Place = tuple[str, int, int]


class Finder:
    """The window assignments of a log's records in one query.

    Args:
        items: the valid records of the log, each lane's in offset order.
        lanes: all lanes, at the end of the log.

    Raises:
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """

    def __init__(self, query: Query, items: Sequence[Item], lanes: Sequence[Lane]) -> None:
        self._query = query
        self._windows: dict[Place, dict[int, Verdict]] = {}
        self._late: dict[Place, list[int]] = {}
        definition = definition_of(query)
        if isinstance(definition, ByValueDefinition):
            return
        if query.window.traits.merging:
            self._look_at_sessions(items, lanes)
            return
        for unit in units_of(query, items, lanes):
            self._look(unit)

    def of(self, item: Item) -> dict[str, Any]:
        """Return windows, late ones, slices and outcome of one record, in a trace's format."""
        query, definition = self._query, definition_of(self._query)
        outcome = _outcome(query, item)
        if outcome.startswith("refused_by:"):
            return {"windows": [], "late": [], "slices": [], "outcome": outcome}
        if isinstance(definition, ByValueDefinition):
            windows, late = definition.verdicts(item), definition.late_for(item)
        else:
            windows, late = self._windows[item.place], self._late[item.place]
        return {
            "windows": list(windows),
            "late": late,
            "slices": _slices(windows, apart=query.window.traits.merging),
            "outcome": outcome,
        }

    def _look_at_sessions(self, items: Sequence[Item], lanes: Sequence[Lane]) -> None:
        """Record all sessions that ever show a record; open ones as if all lanes ended now."""
        query, definition = self._query, definition_of(self._query)
        ended = [replace(lane, progress=math.inf) for lane in lanes]
        held = defaultdict[Place, dict[int, Verdict]](dict)
        for shown in revisions(query, items, ended):
            release = None if shown.revision == 0 else shown.release
            for item in shown.holds:
                held[item.place].setdefault(shown.wid, "on_time" if release is None else release)
        for item in items:
            self._windows[item.place] = dict(sorted(held.get(item.place, {}).items()))
            late = definition.lateness(item) is not None
            self._late[item.place] = list(self._windows[item.place]) if late else []

    def _look(self, unit: Unit) -> None:
        definition, held = extents_of(self._query), defaultdict[Place, dict[int, Verdict]](dict)
        for holding in definition.hold(unit):
            release = holding.release
            held[holding.item.place][holding.wid] = "on_time" if release is None else release
        # Only non-empty windows are ever shown.
        known = sorted({wid for windows in held.values() for wid in windows})
        for item in unit.items:
            windows = held.get(item.place, {})
            late = definition.missed(item, known)
            refused: dict[int, Verdict] = dict.fromkeys(late, "refused")
            self._windows[item.place] = dict(sorted({**refused, **windows}.items()))
            self._late[item.place] = late


def _slices(verdicts: Mapping[int, Verdict], *, apart: bool) -> list[list[int | None]]:
    """Return runs of windows with one verdict, or each window apart, without refusing ones."""
    slices: list[list[int | None]] = []
    for (verdict, _), run in groupby(verdicts, key=lambda wid: (verdicts[wid], apart and wid)):
        held = list(run)
        if verdict != "refused":
            slices.append([held[0], held[-1], None if verdict == "on_time" else int(verdict)])
    return slices


def _outcome(query: Query, item: Item) -> str:
    """Return what becomes of a record: the reason of its dead letter, or its fate."""
    fate, reason = fate_of(query, definition_of(query), item)
    return reason if fate.buries else fate.name
