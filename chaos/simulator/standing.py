"""Where a stream stands by the definition, once parts of its lanes are read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaos.simulator.case import SimulatedRecord
from windowing.model.file.pipeline import Pipeline
from windowing.model.windows.window import ROW_NUM
from windowing.semantics.arrivals import follow
from windowing.semantics.lanes import Progress
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of


def standing(pipeline: Pipeline, read: Sequence[Sequence[SimulatedRecord]]) -> dict[str, Progress]:
    """Return the largest progress of any unit, by attribute.

    Args:
        pipeline: the pipeline.
        read: what is read of each of its first lanes; the others are left out.
    """
    time = pipeline.source.event_time.field
    names = {time, *(window.attribute for window in pipeline.windows)} - {ROW_NUM}
    return {name: _of(pipeline, read, None if name == time else name) for name in sorted(names)}


def _of(
    pipeline: Pipeline, read: Sequence[Sequence[SimulatedRecord]], attribute: str | None
) -> Progress:
    lanes = lanes_of(pipeline.source, attribute)[: len(read)]
    for number, (lane, records) in enumerate(zip(lanes, read, strict=True)):
        follow(lane, records, ValueReader(pipeline, number, takes_changes=True), attribute)
    keys = {key for lane in lanes for key in lane.by_key}
    of_keys = (
        min(max(lane.progress, lane.by_key.get(key, -math.inf)) for lane in lanes) for key in keys
    )
    return max([min(lane.progress for lane in lanes), *of_keys])
