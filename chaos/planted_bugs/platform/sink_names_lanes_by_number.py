"""A table sink that names lanes after the first topic.

Defect: the second topic of a join has the first one's name in `offsets`.
How one gets it: `f"{topic}/{number}"`, from when there was one topic.
Expected: offsets differ.
"""

from typing import Any

import polars as pl
import pyarrow as pa

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import Defect
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from windowing.spark.sinks.rows import BatchRows


class OneTopicRows(BatchRows):
    """Names every lane after the first topic."""

    def _offsets(self, offsets: pl.Series) -> pa.Array:
        true, (first, _) = self._lanes, self._pipeline.source.place(0)
        self._lanes = {number: f"{first.topic}/{number}" for number in true}
        try:
            return super()._offsets(offsets)
        finally:
            self._lanes = true


class OneTopicJob(SimulatedJob):
    """Writes to such a sink."""

    def __init__(self, *args: Any, **options: Any) -> None:
        with Defect((), (("chaos.simulator.platform.spelling:BatchRows", OneTopicRows),)).at_work():
            super().__init__(*args, **options)


BUG = planted_bug(
    EngineParts("sink_names_lanes_by_number", job=OneTopicJob),
    "deterministic",
    shows_in=some_join(),
)
