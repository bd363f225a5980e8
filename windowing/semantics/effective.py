"""What a log makes of a pipeline's file: the effective pipeline, as a function of the whole log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windowing.model.file.changes import places
from windowing.model.file.pipeline import Pipeline
from windowing.semantics.arrivals import follow
from windowing.semantics.changes import check_places, may_change
from windowing.semantics.log import LogEntry, LogOrder, split_lanes
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of


def effective(pipeline: Pipeline, log: Sequence[LogEntry]) -> Pipeline:
    """Return a pipeline with all changes of its queries that a log makes.

    Args:
        pipeline: as in the file, or as some part of this log has made it.
        log: the whole log.

    Raises:
        BadLogError: not a log of this pipeline, or it lacks changes that the pipeline has.
    """
    if not places(pipeline) and not may_change(pipeline, log):
        return pipeline
    if places(pipeline):
        check_places(pipeline, split_lanes(pipeline.source, log))
    return following(pipeline, log)


def following(pipeline: Pipeline, log: Iterable[LogEntry]) -> Pipeline:
    """Return a pipeline with all changes of its queries that a log makes, in one pass over it.

    In any interleaving of lanes: no lane's decision needs another lane's.

    Raises:
        BadLogError: not a log of this pipeline.
    """
    lanes, order = lanes_of(pipeline.source, None), LogOrder(pipeline.source)
    readers = [ValueReader(pipeline, number, takes_changes=True) for number in range(len(lanes))]
    for entry in log:
        number = order.lane_of(entry)
        if number is not None:
            reader = readers[number]
            reader.pipeline = pipeline
            follow(lanes[number], [entry], reader)
            pipeline = reader.pipeline
    return pipeline
