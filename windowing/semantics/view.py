"""The log as the windows over one attribute see it, and what it makes of a pipeline's file.

Most windows are over the event time. Those over another attribute use its progress; of control
records, which concern event time, they use only `end`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windowing.model.file.pipeline import Pipeline, Source
from windowing.model.query import Flow
from windowing.model.windows.window import ROW_NUM
from windowing.semantics.arrivals import ReadRecord, follow, place_of
from windowing.semantics.changes import check_places, may_change
from windowing.semantics.duplicates import KeptRecords
from windowing.semantics.lanes import Lane
from windowing.semantics.log import LogEntry, LogOrder, split_lanes
from windowing.semantics.units import Item
from windowing.semantics.values import Record, ValueReader


@dataclass(frozen=True)
class View:
    """A log seen along one attribute.

    Attributes:
        arrivals: every data record, lane by lane in offset order, with its lane's progress.
        items: the valid ones, as windows see them.
        lanes: the lanes at the end.
        newest: the largest value of the whole log, of which these records may be a part; 0 if it
            has no valid record.
    """

    arrivals: list[ReadRecord]
    items: list[Item]
    lanes: list[Lane]
    newest: int


class Views:
    """One log seen along every windowing attribute of a pipeline.

    Args:
        log: the whole log, in any interleaving of lanes; each lane in offset order.

    Raises:
        BadLogError: not a log of this pipeline.
    """

    def __init__(self, pipeline: Pipeline, log: Iterable[LogEntry]) -> None:
        self._pipeline = pipeline
        self._entries = split_lanes(pipeline.source, log)
        self._views: dict[str | None, View] = {}

    def by(self, attribute: str | None) -> View:
        """Return the log seen along an attribute; None: event time."""
        if attribute not in self._views:
            self._views[attribute] = self._view(attribute)
        return self._views[attribute]

    def of(self, query: Flow) -> View:
        """The log as a query's windows see it."""
        return self.by(attribute_of(query, self._pipeline.source))

    def _view(self, attribute: str | None) -> View:
        lanes, arrivals = lanes_of(self._pipeline.source, attribute), list[ReadRecord]()
        for number, lane in enumerate(lanes):
            reader = ValueReader(self._pipeline, number)
            arrivals += follow(lane, self._entries[number], reader, attribute)
        items = items_of(arrivals, attribute)
        newest = max((item.value for item in items), default=0)
        return View(arrivals, items, lanes, newest)


def attribute_of(query: Flow, source: Source) -> str | None:
    """The attribute that orders a query's records; None: the event time."""
    attribute = query.attribute
    return None if attribute in (ROW_NUM, source.event_time.field) else attribute


def lanes_of(source: Source, attribute: str | None) -> list[Lane]:
    """Return all lanes before any record; added ones have their initial progress."""
    return [_lane(source, number, attribute) for number in range(source.partitions)]


def _lane(source: Source, number: int, attribute: str | None) -> Lane:
    part, name = source.place(number)[0], source.lane(number)
    since = source.begins_at(number, attribute or source.event_time.field)
    progress = -math.inf if since is None else since
    disorder = part.disorder if attribute is None else source.generator_of(attribute)
    lane = Lane(name, disorder, attribute is not None, progress, progress)
    lane.rank = rank_of(source, part.topic)
    if part.duplicates is not None:
        lane.kept = KeptRecords(part.duplicates)
        lane.timed = None if attribute is None else _lane(source, number, None)
    return lane


def items_of(arrivals: Sequence[ReadRecord], attribute: str | None) -> list[Item]:
    """Return the valid records among these, as windows over an attribute see them."""
    return [
        item_of(arrival, arrival.content, attribute)
        for arrival in arrivals
        if isinstance(arrival.content, Record) and arrival.withheld is None
    ]


def item_of(arrival: ReadRecord, record: Record, attribute: str | None) -> Item:
    """Return a valid record as windows over an attribute would see it."""
    place = (arrival.lane.rpartition("/")[0], arrival.partition, arrival.offset)
    value, fields = place_of(record, attribute), record.fields
    return Item(value, *place, arrival.progress, fields, arrival.rank)


def rank_of(source: Source, topic: str) -> int | None:
    """Return the place of a topic among those of a source of several; None: it has one."""
    return None if source.topics is None else [*source.topics].index(topic)


def effective(pipeline: Pipeline, log: Sequence[LogEntry]) -> Pipeline:
    """Return a pipeline with all changes of its queries that a log makes.

    Args:
        pipeline: as in the file, or as some part of this log has made it.
        log: the whole log.

    Raises:
        BadLogError: not a log of this pipeline, or it lacks changes that the pipeline has.
    """
    if not pipeline.log_places and not may_change(pipeline, log):
        return pipeline
    if pipeline.log_places:
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
