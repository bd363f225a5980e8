"""Records of equal time that operators process by offset, ignoring the partition.

Defect: the partition is left out of the canonical order.
How one gets it: one partition on the developer's machine.
Expected: windows hold other records where times are equal in two lanes.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_lanes
from chaos.planted_bugs.operator_conditions import canonical, some_operators
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AT, OFFSET, PARTITION
from windowing.engine.rows.units import Units
from windowing.model.operators.query import OperatorQuery


class UnitsByOffset(Units):
    """Units whose records come by time and offset."""

    def __init__(self, query: OperatorQuery, *more: Any, new: pl.DataFrame, **tables: Any) -> None:
        if query.order == "canonical":
            new = new.sort(AT, OFFSET, PARTITION)
        super().__init__(query, *more, new=new, **tables)


BUG = planted_bug(
    planted("ties_by_offset", names={"windowing.engine.rows.shard_part:Units": UnitsByOffset}),
    "deterministic",
    shows_in=some_operators(canonical, several_lanes),
)
