"""Records that a user's aggregate refuses: dead letters of one query, before its windows see them.

Other queries take them, and they move progress: clocks have seen them already. A record in no
window of the query is given to no aggregate, so it is outside, whatever a `check` would say of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from windowing.engine.columns import OFFSET, field_column
from windowing.engine.effects import took_effect
from windowing.engine.reading.refusals import shown
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA
from windowing.engine.wids import Flags
from windowing.engine.windows.part import LanePart, Scan
from windowing.engine.windows.sliding_lane import SlidingLanePart
from windowing.model.fields import Aggregate
from windowing.model.query import Flow
from windowing.model.user import user_aggregate


@dataclass(frozen=True)
class Refusing:
    """The aggregates of one query that are users' classes."""

    query: str
    aggregates: Sequence[Aggregate]

    @classmethod
    def of(cls, query: Flow) -> Self | None:
        """Return them; None: the query takes every record.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        users = [one for one in query.aggregates if one.user is not None]
        for one in users:
            user_aggregate.load(str(one.user))
        return cls(query.name, users) if users else None

    def split(self, part: LanePart, scan: Scan) -> tuple[Scan, pl.DataFrame]:
        """Return what windows see of a chunk, and the dead letters of the other records."""
        outside = np.zeros(len(scan.values), dtype=bool)
        if isinstance(part, SlidingLanePart):
            outside = part.outside(scan)
        refused, letters = self._refused(scan, ~outside)
        took_effect("refused by a class", len(letters))
        return (scan.where(~refused) if len(letters) else scan), letters

    def _refused(self, scan: Scan, asked: Flags) -> tuple[Flags, pl.DataFrame]:
        refused, letters = np.zeros(len(asked), dtype=bool), list[tuple[object, ...]]()
        offsets = scan.data[OFFSET].to_list()
        for one in self.aggregates:
            values = scan.data.select(map(field_column, one.fields)).rows()
            for row in np.flatnonzero(asked & ~refused).tolist():
                # As for `update`: no field is null.
                if None in values[row]:
                    continue
                rule = user_aggregate.refusal(str(one.user), values[row])
                if rule is not None:
                    refused[row] = True
                    said = shown(values[row][0] if len(one.fields) == 1 else values[row])
                    reason, fields = f"refused_by:{one.name}", ", ".join(one.fields)
                    place = (scan.partition, offsets[row], self.query)
                    letters.append((*place, reason, fields, said, rule))
        found = pl.DataFrame(letters, schema=DEAD_LETTER_SCHEMA, orient="row")
        return refused, found.sort(OFFSET)
