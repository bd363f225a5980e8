"""Progress: what one lane's records, in offset order, promise about later ones.

A lane's progress is the running maximum of the bounds after its records, minus infinity at first,
plus infinity after `end`. If progress is per key, a key's progress in a lane is the larger of the
lane's and its own. Decisions about a record depend on the progress *before* it, which is a fact of
the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from windowing.model.file.changes import Change
from windowing.model.progress import Disorder, Heartbeat, OrderedPer
from windowing.model.rows import Scalar
from windowing.semantics.changes import Changed, judge
from windowing.semantics.controls import Bound, Control, Observation
from windowing.semantics.generators import (
    Fields,
    Generator,
    generator,
    give_back,
    kept_by,
    observed_bound,
)
from windowing.semantics.log import LogEntry
from windowing.semantics.values import Reason, Record, Refused, ValueReader

Progress = int | float
"""Microseconds or an infinity, which Python compares with ints exactly."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A data record and its place in the log.

    Attributes:
        lane: `topic/partition`.
        partition, offset: its place.
        progress: the progress before it, of its lane and key.
        content: the record, or the reason why it is a dead letter for all queries.
    """

    lane: str
    partition: int
    offset: int
    progress: Progress
    content: Record | Reason | Literal["after_end"]


@dataclass
class Lane:
    """One lane's progress; mutable.

    Attributes:
        name: `source/partition`.
        disorder: the generator.
        ignore_control: honour only `end` among control records.
        progress: of the lane as a whole.
        furthest: the largest finite progress so far.
        by_key: the progress of single keys.
        newest: the largest value of its records.
        counter: of the last control record whose signature was right; -1 before the first.
    """

    name: str
    disorder: Disorder
    ignore_control: bool = False
    progress: Progress = -math.inf
    furthest: Progress = -math.inf
    by_key: dict[Scalar, Progress] = field(default_factory=dict)
    newest: Progress = -math.inf
    counter: int = -1

    def __post_init__(self) -> None:
        self._bound_after: Generator = generator(self.disorder, self.name)
        self._attr = self.disorder.progress_attr

    def state(self) -> list[Any]:
        """Return all that the lane's records have left, as JSON values.

        Raises:
            HiddenStateError: as of `kept_by`.
        """
        of_keys = [list(pair) for pair in self.by_key.items()]
        kept = kept_by(self._bound_after)
        return [self.progress, self.furthest, of_keys, kept, self.newest, self.counter]

    def go_on(self, state: list[Any]) -> None:
        """Go on where a lane with this `state()` was."""
        self.progress, self.furthest, of_keys, kept, self.newest, self.counter = state
        self.by_key = dict(of_keys)
        give_back(self._bound_after, kept)

    def of_record(self, fields: Fields) -> Progress:
        """Return the progress for a record with these fields: of its lane or key, if larger."""
        return max(self.progress, self._promised(fields))

    def furthest_of_record(self, fields: Fields) -> Progress:
        """Return the largest finite progress so far for such a record."""
        return max(self.furthest, self._promised(fields))

    def _promised(self, fields: Fields) -> Progress:
        return -math.inf if self._attr is None else self.by_key.get(fields[self._attr], -math.inf)

    def record(self, value: int, fields: Fields) -> None:
        """Advance by a data record's promise."""
        self.newest = max(self.newest, value)
        if isinstance(self.disorder, OrderedPer) and self._attr is not None:
            self._promise_key(fields[self._attr], value)
        else:
            self._promise(self._bound_after(value, fields))

    def control(self, control: Control) -> None:
        """Advance by a control record, if the generator uses it."""
        if control == "end":
            self.progress = math.inf
        elif self.ignore_control:
            return
        elif isinstance(control, Bound) and control.on is None:
            self._promise(control.bound_us)
        elif isinstance(control, Bound) and control.on is not None:
            for attr, key in control.on.items():
                if attr == self._attr and (key is None or isinstance(key, int | float | str)):
                    self._promise_key(key, control.bound_us)
        elif isinstance(control, Observation) and isinstance(self.disorder, Heartbeat):
            self._promise(observed_bound(self.disorder, self.name, control))

    def _promise(self, bound: int | None) -> None:
        if bound is not None:
            self.progress = max(self.progress, bound)
            self.furthest = max(self.furthest, bound)

    def _promise_key(self, key: Scalar, bound: int) -> None:
        self.by_key[key] = max(self.by_key.get(key, -math.inf), bound)


def follow(
    lane: Lane, entries: Iterable[LogEntry], reader: ValueReader, attribute: str | None = None
) -> list[Arrival]:
    """Return a lane's data records, each with the progress before it, and advance the lane.

    Control records that are dead letters are among them.

    Args:
        lane: the lane before the entries.
        entries: in offset order.
        reader: decodes values, and judges changes of the queries.
        attribute: the field that advances it; None: the event time.

    Raises:
        Changed: the lane takes a change of the queries that the reader's pipeline does not know.
    """
    arrivals: list[Arrival] = []
    for entry in entries:
        ended = lane.progress == math.inf
        if entry.control is not None:
            said = reader.control(entry.control, entry.append_us, lane)
            if isinstance(said, Change) and not ended:
                said = _change(said, reader, lane, entry.offset, attribute)
            if isinstance(said, Refused):
                place = (lane.name, entry.partition, entry.offset, lane.progress)
                arrivals.append(Arrival(*place, "after_end" if ended else said.reason))
            elif not ended and not isinstance(said, Change):
                lane.control(said)
            continue
        content: Record | Reason | Literal["after_end"] = (
            "after_end" if ended else reader.read(entry.value, entry.append_us)
        )
        met = lane.of_record(content.fields) if isinstance(content, Record) else lane.progress
        arrivals.append(Arrival(lane.name, entry.partition, entry.offset, met, content))
        if isinstance(content, Record):
            lane.record(place_of(content, attribute), content.fields)
    return arrivals


def _change(
    change: Change, reader: ValueReader, lane: Lane, offset: int, attribute: str | None
) -> Refused | Literal["ignored"]:
    """Return what becomes of a change in its lane, after letting the reader take it."""
    if attribute is not None:
        return "ignored"  # it is judged by event time, and is nothing to other attributes
    found = judge(reader.pipeline, change, lane, offset)
    if isinstance(found, Refused):
        return found
    if found is not None:
        if not reader.takes_changes:
            raise Changed(found)
        reader.pipeline = found
    return "ignored"


def place_of(record: Record, attribute: str | None) -> int:
    """Return a record's position along an attribute; None: the event time."""
    if attribute is None:
        return record.ts_us
    value = record.fields[attribute]
    assert isinstance(value, int)  # noqa: S101 - windows are only over ints that are never null
    return value
