"""A lane's data records in offset order, each with the progress before it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from windowing.model.fates import DUPLICATE, WARNED
from windowing.model.file.changes import Change
from windowing.model.registry import PluginError
from windowing.model.user.user_code import raisable, words
from windowing.semantics.changes import UndeclaredChange, judge
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.log import LogEntry
from windowing.semantics.values import Record, RefusedControl, ValueReader


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A data record and its place in the log.

    Attributes:
        lane: `topic/partition`.
        progress: the progress before it, of its lane and key.
        content: the record, or the reason why it is a dead letter for all queries.
        rank: that of its lane.
    """

    lane: str
    partition: int
    offset: int
    progress: Progress
    content: Record | str
    rank: int | None = None

    @property
    def withheld(self) -> str | None:
        """The name of the fate for which no window is to see it; None: it has none yet."""
        return self.content.withheld if isinstance(self.content, Record) else None

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of what it counts for in all queries: what withholds it, and warnings."""
        if not isinstance(self.content, Record):
            return ()
        withheld = () if self.content.withheld is None else (self.content.withheld,)
        return (*withheld, *(WARNED + name for name in self.content.warned))


def follow(
    lane: Lane, entries: Iterable[LogEntry], reader: ValueReader, attribute: str | None = None
) -> list[ReadRecord]:
    """Return a lane's data records, each with the progress before it, and advance the lane.

    Control records that are dead letters are among them.

    Args:
        lane: the lane before the entries.
        entries: in offset order.
        reader: decodes values, and judges changes of the queries.
        attribute: the field that advances it; None: the event time.

    Raises:
        UndeclaredChange: the lane takes a change of the queries that the reader's pipeline does
            not know.
        PluginError: the lane's generator failed.
    """
    arrivals: list[ReadRecord] = []
    for entry in entries:
        ended = lane.progress == math.inf
        if entry.control is not None:
            said = reader.control(entry.control, entry.append_us, lane)
            if isinstance(said, Change) and not ended:
                said = _change(said, reader, lane, entry.offset, attribute)
            if isinstance(said, RefusedControl):
                place = (lane.name, entry.partition, entry.offset, lane.progress)
                arrivals.append(ReadRecord(*place, "after_end" if ended else said.reason))
            elif not ended and not isinstance(said, Change):
                lane.control(said)
                if lane.timed is not None:
                    lane.timed.control(said)
            continue
        content = "after_end" if ended else reader.read_entry(entry)
        if isinstance(content, Record) and content.withheld is None:
            repeated = lane.original(content.ts_us, content.fields, entry.offset)
            if repeated is not None:
                content = replace(content, withheld=DUPLICATE.name, repeats=repeated)
        met = lane.of_record(content.fields) if isinstance(content, Record) else lane.progress
        arrivals.append(
            ReadRecord(lane.name, entry.partition, entry.offset, met, content, lane.rank)
        )
        if isinstance(content, Record):
            try:
                _advance(lane, content, attribute)
            except raisable() as error:
                msg = f"its generator of progress failed: {words(error)}"
                raise PluginError(f"{lane.name}, offset {entry.offset}: {msg}") from error
    return arrivals


def _advance(lane: Lane, record: Record, attribute: str | None) -> None:
    lane.record(place_of(record, attribute), record.fields, seen=record.withheld is None)
    if lane.timed is not None:
        lane.timed.record(record.ts_us, record.fields)


def _change(
    change: Change, reader: ValueReader, lane: Lane, offset: int, attribute: str | None
) -> RefusedControl | Literal["ignored"]:
    """Return what becomes of a change in its lane, after letting the reader take it."""
    if attribute is not None:
        return "ignored"  # it is judged by event time, and is nothing to other attributes
    found = judge(reader.pipeline, change, lane, offset)
    if isinstance(found, RefusedControl):
        return found
    if found is not None:
        if not reader.takes_changes:
            raise UndeclaredChange(found)
        reader.pipeline = found
    return "ignored"


def place_of(record: Record, attribute: str | None) -> int:
    """Return a record's position along an attribute; None: the event time."""
    if attribute is None:
        return record.ts_us
    value = record.fields[attribute]
    assert isinstance(value, int)  # noqa: S101 - windows are only over ints that are never null
    return value
