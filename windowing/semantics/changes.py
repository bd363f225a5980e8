"""Which changes of its queries a log makes: what each lane takes, by definition.

A lane takes its copy of a change if all that it knows lies before it. To add a query `from` b: no
record of the lane so far is at b or later, and its progress is at most b. To remove one `until` u:
its progress is at most u; by keys, the furthest key's counts. Otherwise the copy is a dead letter,
`change_too_late`. One that is in time is `not_allowed` if it asks for more than `source.control`
permits, and `malformed` if its lane knows no such query to remove, has another one of that name, or
if no file could have it. A copy that differs from one of a lower lane is `not_allowed`, too, and
the name then has no rows.

A query that was added takes part in the lanes that took it, and has rows if all did: before a row
of it can be due, progress of each lane is past b, and so decided. A query that was removed has no
window that ends after u as soon as one lane took that: before it did, none could close.

Lanes are asked in their order, and none has to know what a higher one says.

Source: `windowing/adr/0040`, `windowing/adr/0055`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windowing.model.control import unsealed
from windowing.model.file.changes import (
    Change,
    Copy,
    changed,
    refused_copies,
)
from windowing.model.file.pipeline import Pipeline
from windowing.semantics.controls import read_control
from windowing.semantics.lanes import Lane
from windowing.semantics.log import BadLogError, LogEntry
from windowing.semantics.values import RefusedControl


class UndeclaredChange(Exception):
    """A log that changes the queries in a way that the pipeline does not know yet.

    Attributes:
        pipeline: the pipeline as it is with the change.
    """

    exit_code = 1

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"the log changes the queries of pipeline {pipeline.name}, and the file does not say "
            "so: take a run that has read the change, whose own copy of the file does"
        )


def judge(
    pipeline: Pipeline, change: Change, lane: Lane, offset: int
) -> RefusedControl | Pipeline | None:
    """Return why a lane does not take its copy of a change, or what it makes of a pipeline.

    Args:
        pipeline: as the copies before have made it: of lower lanes, and of this one.
        lane: the lane just before it.

    Returns:
        None: the pipeline knows that the lane took it.

    Raises:
        BadLogError: the pipeline says that the lane took it, and the log does not.
    """
    place, late = (lane.name, offset), _is_late(change, lane)
    if place in pipeline.log_places:
        if late:
            msg = f"{lane.name} offset {offset} comes too late to change the queries as the file "
            raise BadLogError(f"{msg}says: take joined, left and conflicts out of the file")
        return (
            RefusedControl("not_allowed") if place in refused_copies(pipeline.conflicts) else None
        )
    if late:
        return RefusedControl("change_too_late")
    after = changed(pipeline, Copy(lane.name, offset, change))
    return RefusedControl(after) if isinstance(after, str) else after


def _is_late(change: Change, lane: Lane) -> bool:
    joins = [query["from"] for query in change.added.values()]
    progress = max([lane.progress, *lane.by_key.values()])
    if any(begins_us <= lane.newest or begins_us < progress for begins_us in joins):
        return True
    return any(until_us < progress for until_us in change.removed.values())


def may_change(pipeline: Pipeline, log: Iterable[LogEntry]) -> bool:
    """Return whether a log may change the queries: it has a record that says so, taken or not."""
    return any(source.control.believe == "all" for source in pipeline.source.parts) and any(
        map(changes_queries, log)
    )


def changes_queries(entry: LogEntry) -> bool:
    """Return whether an entry has the form of a change of the queries, believed or not."""
    if entry.control is None:
        return False
    return isinstance(read_control(unsealed(entry.control).body), Change)


def check_places(pipeline: Pipeline, lanes: Sequence[Sequence[LogEntry]]) -> None:
    """Check that a whole log has the changes that a pipeline says it has.

    Raises:
        BadLogError: there is no such record.
    """
    for lane, offset in sorted(pipeline.log_places):
        number = pipeline.source.number(*_named(lane))
        entries = [] if number is None else lanes[number]
        if not any(entry.offset == offset and changes_queries(entry) for entry in entries):
            msg = (
                f"the file says that {lane} offset {offset} changes the queries, and the log has "
                "no such record there: take joined and left out of the file"
            )
            raise BadLogError(msg)


def _named(lane: str) -> tuple[str, int]:
    topic, _, partition = lane.rpartition("/")
    return topic, int(partition)
