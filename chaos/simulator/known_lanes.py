"""The file of a run that gets to know lanes one after the other, as partitions are accepted.

`slackwater topics FILE --accept-partitions` writes a lane and its settings into the run's own file,
and leaves the state as it is: the engine adds the lane when it next opens it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from windowing.model.file.pipeline import Pipeline, parse_pipeline


def with_lanes_of(pipeline: Pipeline, whole: Pipeline, lanes: int) -> Pipeline:
    """Return a run's file with the first lanes of another one.

    Args:
        pipeline: the run's.
        whole: the same with all lanes.
        lanes: how many it has now; at least those that have not joined.
    """
    if lanes == pipeline.source.partitions:
        return pipeline
    source = yaml.safe_load(whole.text)["source"]
    for lane in whole.source.joined_lanes:
        if lane.number >= lanes:
            source["partitions"] -= 1
            del source["joined"][lane.name]
            for named in _by_lane(source):
                named.pop(lane.name, None)
    document = {**yaml.safe_load(pipeline.text), "source": source}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
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
