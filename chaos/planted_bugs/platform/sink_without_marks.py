"""A table sink that writes retractions like any other row.

Defect: the column `op` is always null.
How one gets it: a column added later to the schema, but not to the rows.
Expected: an identity occurs twice, and no row retracts.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import retracting, some_query, updates
from chaos.planted_bugs.planted import Defect
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from windowing.runtime.output import Emitted
from windowing.spark.sinks.rows import BatchRows


class PlainRows(BatchRows):
    """Leaves `op` null."""

    def tables(self, frames: Sequence[Emitted], batch_id: int) -> dict[str, pa.Table]:  # noqa: D102
        tables = super().tables(frames, batch_id)
        for name, table in tables.items():
            if "op" in table.column_names:
                place = table.column_names.index("op")
                nothing = pa.nulls(len(table), pa.string())
                tables[name] = table.set_column(place, "op", nothing)
        return tables


class PlainJob(SimulatedJob):
    """Writes to such a sink."""

    def __init__(self, *args: Any, **options: Any) -> None:
        with Defect((), (("chaos.simulator.platform.spelling:BatchRows", PlainRows),)).at_work():
            super().__init__(*args, **options)


BUG = planted_bug(
    EngineParts("sink_without_marks", job=PlainJob),
    "deterministic",
    "exactly once",
    shows_in=some_query(retracting, updates),
)
