"""The axes on which windows lie: event time, and row numbers in log or canonical order.

An axis says where a record lies, how far its lane was before it, and how far the axis has got. On
the axes of rows nothing is late: a row that comes is the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.state import StateStore
from windowing.model.record import Place, Progress, Record, place_of
from windowing.model.windows.traits import Order
from windowing.model.windows.window import ROW_NUM, Window

_COUNT = "rows"
_UNRANKED = "unranked/"


class Positioned(NamedTuple):
    """A record with its place on the axis.

    Attributes:
        record: the record.
        at: its value on the axis.
        place: its place among the records, by which first, last and collect go.
        before: how far its lane had got; what is late is judged by it.
    """

    record: Record
    at: int
    place: Place
    before: Progress


class Axis(Protocol):
    """One axis."""

    layout: keys.Layout

    def arrive(self, record: Record, before: Progress) -> Positioned | bool:
        """Where a record lies; True: it will be known later; False: it is too late for the axis."""

    def released(self, progress: Progress) -> Iterator[Positioned]:
        """Records whose place is known now that progress has got there."""

    def progress(self, progress: Progress) -> Progress:
        """How far the axis has got when the stream has got to `progress`."""

    def waiting(self) -> int:
        """How many records have no place yet."""


class EventTime:
    """Microseconds of event time."""

    layout: keys.Layout = "ts_offset"

    def arrive(self, record: Record, before: Progress) -> Positioned | bool:
        """Where a record lies: at its time."""
        place = place_of(record.ts, record.lane, record.offset)
        return Positioned(record, record.ts, place, before)

    def released(self, progress: Progress) -> Iterator[Positioned]:
        """None: every place is known at once."""
        return iter(())

    def progress(self, progress: Progress) -> Progress:
        """The stream's."""
        return progress

    def waiting(self) -> int:
        """None."""
        return 0


class _Counter:
    """How many rows have been numbered."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    @property
    def value(self) -> int:
        data = self._store.get(_COUNT)
        return 0 if data is None else msgspec.msgpack.decode(data, type=int)

    def next(self) -> int:
        """The number of the next row."""
        number = self.value
        self._store.put(_COUNT, msgspec.msgpack.encode(number + 1))
        return number


class LogRows:
    """Row numbers as rows stand in the only lane; control records have none.

    Args:
        store: where the count is kept.
        past_end: a window is known to be full by the row after it.
    """

    layout: keys.Layout = "offset"

    def __init__(self, store: StateStore, *, past_end: bool) -> None:
        self._rows, self._behind = _Counter(store), int(past_end)

    def arrive(self, record: Record, before: Progress) -> Positioned | bool:
        """Where a record lies: behind all rows so far."""
        at = self._rows.next()
        return Positioned(record, at, place_of(at, record.lane, record.offset), -math.inf)

    def released(self, progress: Progress) -> Iterator[Positioned]:
        """None: every place is known at once."""
        return iter(())

    def progress(self, progress: Progress) -> Progress:
        """How many rows there are, whatever their times."""
        return self._rows.value - self._behind

    def waiting(self) -> int:
        """None."""
        return 0


class RankedRows:
    """Row numbers in canonical order: a row is numbered when progress has passed its time.

    Args:
        store: where the count and the rows without a number are kept.
    """

    layout: keys.Layout = "ts_offset"

    def __init__(self, store: StateStore) -> None:
        self._rows, self._store = _Counter(store), store

    def arrive(self, record: Record, before: Progress) -> Positioned | bool:
        """Keep a record until it can be numbered; one behind its lane's progress is too late."""
        if record.ts < before:
            return False
        name = keys.i64(record.ts) + keys.place(record.lane, record.offset)
        self._store.put(_UNRANKED + name.hex(), msgspec.msgpack.encode(record))
        return True

    def released(self, progress: Progress) -> Iterator[Positioned]:
        """The records that progress has passed, numbered in canonical order."""
        for name, data in self._store.scan(_UNRANKED):
            record = msgspec.msgpack.decode(data, type=Record)
            if record.ts >= progress:
                return
            self._store.delete(name)
            place = place_of(record.ts, record.lane, record.offset)
            yield Positioned(record, self._rows.next(), place, -math.inf)

    def progress(self, progress: Progress) -> Progress:
        """How many rows are numbered."""
        return self._rows.value

    def waiting(self) -> int:
        """How many are not."""
        return sum(1 for _ in self._store.scan(_UNRANKED))


def axis_of(window: Window, store: StateStore, *, past_end: bool) -> Axis:
    """The axis of a flow's windows.

    Args:
        window: the window.
        store: where the axis keeps what it knows.
        past_end: as of `LogRows`.
    """
    if window.attribute != ROW_NUM:
        return EventTime()
    if window.traits.order is Order.CANONICAL:
        return RankedRows(store)
    return LogRows(store, past_end=past_end)


def message_place(layout: keys.Layout) -> Callable[[Place], tuple[int, str, int]]:
    """What a message key needs of a place: time (0 where the layout has none), lane, offset."""
    has_time = layout not in ("offset", "eq_offset")

    def parts(place: Place) -> tuple[int, str, int]:
        at, source, partition, offset = place
        return (at if has_time else 0), f"{source}/{partition}", offset

    return parts
