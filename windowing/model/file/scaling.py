"""A pipeline with more lanes, or with another number of shards, and the text of its file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from windowing.model.added_lanes import AddedLane
from windowing.model.file.pipeline import Pipeline, parse_pipeline


def with_lanes(pipeline: Pipeline, lanes: Iterable[AddedLane]) -> Pipeline:
    """Return the pipeline with these added lanes recorded, and its partitions counted with them.

    Args:
        pipeline: any record of added lanes in it is replaced; its partitions may already include
            them.
        lanes: all lanes that were ever added.

    Raises:
        PipelineError: the result breaks a rule; for example, a generator does not name such a lane.
    """
    by_topic = defaultdict(list)
    for lane in lanes:
        by_topic[lane.topic].append(lane)
    document = yaml.safe_load(pipeline.text)
    for source in _sources(document):
        added = by_topic.get(source["topic"])
        if added:
            source["partitions"] = max(lane.partition for lane in added) + 1
            source["joined"] = _record(added)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return parse_pipeline(text, f"{pipeline.name} with {', '.join(sorted(by_topic))} grown")


def spelled(topic: str, lanes: Sequence[AddedLane]) -> str:
    """Return the YAML for the source of a topic in the file."""
    added = [lane for lane in lanes if lane.topic == topic]
    partitions = max(lane.partition for lane in added) + 1
    return yaml.safe_dump({"partitions": partitions, "joined": _record(added)}, sort_keys=False)


def _record(added: Iterable[AddedLane]) -> dict[str, Any]:
    return {lane.name: {"lane": lane.number, "at": dict(lane.at)} for lane in added}


def _sources(document: dict[str, Any]) -> list[dict[str, Any]]:
    if "join" in document:
        return [document["join"][side]["source"] for side in ("left", "right")]
    return [document["source"]]


def with_shards(pipeline: Pipeline, shards: int) -> Pipeline:
    """Return the pipeline with its keys spread over this many shards.

    Args:
        pipeline: the pipeline; its checkpoints are not the result's.
        shards: how many.

    Raises:
        PipelineError: that number of shards is not allowed.
    """
    document = {**yaml.safe_load(pipeline.text), "shards": shards}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return parse_pipeline(text, f"{pipeline.name} with {shards} shards")
