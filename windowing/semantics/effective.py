"""What a log makes of a pipeline's file: the effective pipeline, as a function of the whole log."""

from __future__ import annotations

from collections.abc import Sequence

from windowing.model.file.changes import places
from windowing.model.file.pipeline import Pipeline
from windowing.semantics.changes import check_places, may_change
from windowing.semantics.lanes import follow
from windowing.semantics.log import LogEntry, split_lanes
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
    lanes = split_lanes(pipeline.source, log)
    check_places(pipeline, lanes)
    for number, lane in enumerate(lanes_of(pipeline.source, None)):
        reader = ValueReader(pipeline, number, takes_changes=True)
        follow(lane, lanes[number], reader)
        pipeline = reader.pipeline
    return pipeline
