"""Lanes that are added during a run: the run's file, and where the stream stands.

`slackwater topics FILE --accept-partitions` writes a lane and its settings into the run's own file,
and leaves the state as it is: the engine adds the lane when it next opens it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from chaos.simulator.case import SimulatedRecord
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.model.file.yaml_lines import load, spell
from windowing.model.windows.window import ROW_NUM
from windowing.semantics.arrivals import follow
from windowing.semantics.lanes import Progress
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of


def with_lanes_of(pipeline: Pipeline, whole: Pipeline, lanes: int) -> Pipeline:
    """Return a run's file with the first lanes of another one.

    Args:
        whole: the same with all lanes.
        lanes: how many it has now; at least those that have not joined.
    """
    if lanes == pipeline.source.partitions:
        return pipeline
    source = load(whole.text)["source"]
    for lane in whole.source.added_lanes:
        if lane.number >= lanes:
            source["partitions"] -= 1
            del source["joined"][lane.name]
            for named in _by_lane(source):
                named.pop(lane.name, None)
    document = {**load(pipeline.text), "source": source}
    text = spell(document)
    return parse_pipeline(text, f"{pipeline.name} with {lanes} lanes")


def _by_lane(source: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a source's generators that name lanes."""
    for generator in (source["disorder"], *source.get("disorder_of", {}).values()):
        if isinstance(generator, dict):
            if "heartbeat" in generator:
                yield generator["heartbeat"]
            per = generator.get("ordered_per")
            if isinstance(per, dict) and "members" in per:
                yield per["members"]


def standing(pipeline: Pipeline, read: Sequence[Sequence[SimulatedRecord]]) -> dict[str, Progress]:
    """Return the largest progress of any unit, by attribute.

    Args:
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
