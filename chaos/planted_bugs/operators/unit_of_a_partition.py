"""Partitions with windows of their own although evictions look at all partitions.

Defect: the partition's fields name the unit even with partition eviction.
How one gets it: records are sent to the shard of their key, as those of other windows are.
Expected: no partition is ever evicted to make room for another, and reports are numbered per key.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import field_column
from windowing.engine.rows.lane_part import unit_columns
from windowing.model.operators.query import OperatorQuery
from windowing.model.windows.policy import PartitionAge, PartitionCount, TupleCount


def columns_of_partition(query: OperatorQuery) -> list[str]:
    """Return the columns of the last window's partition, too."""
    by = query.last.window.partition_by
    return list(dict.fromkeys([*unit_columns(query), *map(field_column, by)]))


BUG = planted_bug(
    planted(
        "unit_of_a_partition",
        names={
            "windowing.engine.rows.lane_part:unit_columns": columns_of_partition,
            "windowing.engine.rows.shard_part:unit_columns": columns_of_partition,
        },
    ),
    *("deterministic", "exactly once"),
    shows_in=some_operators(with_window(partitions=(PartitionAge, PartitionCount, TupleCount))),
)
