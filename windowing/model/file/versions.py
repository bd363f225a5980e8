"""Versions of a pipeline file: with more lanes, with other shards, and with other queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windowing.model.added_lanes import AddedLane
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.model.file.yaml_lines import load, spell
from windowing.model.fingerprint import fingerprint
from windowing.model.query import Flow, Query
from windowing.model.windows.activity import Activity, Places
from windowing.model.windows.sliding import has_extents, with_active


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
    document = load(pipeline.text)
    for source in _sources(document):
        counts, joined = {}, list[AddedLane]()
        for topic in source.get("topics", [source.get("topic")]):
            if added := by_topic.get(topic):
                counts[topic] = max(lane.partition for lane in added) + 1
                joined += added
        if joined:
            source.update(_counted(source.get("topics"), counts))
            source["joined"] = _record(sorted(joined, key=lambda lane: lane.number))
    text = spell(document, width=100)
    return parse_pipeline(text, f"{pipeline.name} with {', '.join(sorted(by_topic))} grown")


def _counted(topics: Mapping[str, int] | None, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return how many partitions there are, as a source says it."""
    if topics is not None:
        return {"topics": {**topics, **counts}}
    (number,) = counts.values()
    return {"partitions": number}


def spelled(topic: str, lanes: Sequence[AddedLane]) -> str:
    """Return the YAML for the source of a topic in the file."""
    added = [lane for lane in lanes if lane.topic == topic]
    partitions = max(lane.partition for lane in added) + 1
    return spell({"partitions": partitions, "joined": _record(added)})


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

    Raises:
        PipelineError: that number of shards is not allowed.
    """
    document = {**load(pipeline.text), "shards": shards}
    text = spell(document, width=100)
    return parse_pipeline(text, f"{pipeline.name} with {shards} shards")


@dataclass(frozen=True)
class QueryChange:
    """What one pipeline has that another has not; in all else, the two are the same.

    Attributes:
        added: names of its queries in addition, in the order of the file.
        ended: names of those that only now have an `until`, or have an earlier one.
        dropped: names that turn out to be of different queries in different lanes.
        control: whether it believes other control records, or forgets other names.
    """

    added: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    control: bool = False


def query_change(
    before: Pipeline, after: Pipeline, shards: int | None = None
) -> QueryChange | None:
    """Return how the queries of a pipeline change.

    Args:
        shards: the number of the other's shards to assume; None: its own.

    Returns:
        None: they do not change in such a way, or anything else differs.
    """
    if not (before.query_files and after.query_files):
        return None
    dropped = [flow.name for flow in before.flows if flow.name in after.conflicts]
    known = {flow.name: flow for flow in before.flows if flow.name not in dropped}
    own = [flow for flow in after.flows if flow.name in known]
    as_before = [_as_before(known[flow.name], flow) for flow in own]
    control = before.source.control
    source = after.source.model_copy(update={"control": control})
    found = fingerprint(source, shards or after.shards, as_before)
    if found != fingerprint(before.source, before.shards, [*known.values()]):
        return None
    if not _has_conflicts(before, after):
        return None
    pairs = [(_activity(known[flow.name]), _activity(flow), flow.name) for flow in own]
    if not all(_goes_on(old, new) for old, new, _ in pairs):
        return None
    return QueryChange(
        tuple(flow.name for flow in after.flows if flow.name not in known),
        tuple(name for old, new, name in pairs if old.until_us != new.until_us),
        tuple(dropped),
        after.source.control != control or after.forgotten != before.forgotten,
    )


def added_queries(before: Pipeline, after: Pipeline) -> tuple[str, ...]:
    """Return the names of the queries that one pipeline has in addition to another.

    Returns:
        In the order of the file; nothing if there are none, or if anything else differs.
    """
    change = query_change(before, after)
    return () if change is None else change.added


def _as_before(old: Flow, new: Flow) -> Flow:
    if not (isinstance(old, Query) and isinstance(new, Query)):
        return new
    if old.window.active == new.window.active or not has_extents(new.window):
        return new
    return new.model_copy(update={"window": with_active(new.window, old.window.active)})


def _activity(flow: Flow) -> Activity:
    return (flow.window and flow.window.active) or Activity()


def _goes_on(old: Activity, new: Activity) -> bool:
    """Whether an activity is what another can become: more lanes know it, or it ends."""
    if (old.begins_us, old.warmup) != (new.begins_us, new.warmup):
        return False
    if (old.joined is None) != (new.joined is None):
        return False
    if not _has(new.joined, old.joined) or not _has(new.left, old.left):
        return False
    if old.until_us is None:
        return True
    if (old.left is None) != (new.left is None):
        return False
    # Each lane goes by what it has said; the query, by the earliest of it.
    return new.until_us == old.until_us or (old.left is not None and _ends_before(new, old))


def _ends_before(new: Activity, old: Activity) -> bool:
    lanes = [lane for lane, _ in old.left or ()]
    earlier = new.until_us is not None and new.until_us < (old.until_us or 0)
    return earlier and all(new.until_in(lane) == old.until_in(lane) for lane in lanes)


def _has_conflicts(before: Pipeline, after: Pipeline) -> bool:
    """Whether a pipeline has the conflicts of another, with at least the same copies."""
    return all(
        {lane: own.at for lane, own in conflict.items()}.items()
        <= {lane: own.at for lane, own in after.conflicts.get(name, {}).items()}.items()
        for name, conflict in before.conflicts.items()
    )


def _has(more: Places | None, less: Places | None) -> bool:
    return {*(less or ())} <= {*(more or ())}
