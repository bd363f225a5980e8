"""The axes of windows: event time, and row numbers in log or canonical order.

An axis gives a record's position, its lane's progress before it, and the progress of the axis. On
axes of rows nothing is late: an arriving row is the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore
from windowing.model.record import Place, Progress, Record, place_of
from windowing.model.windows.traits import Order
from windowing.model.windows.window import ROW_NUM, Window

_COUNT = "rows"
_UNRANKED = "unranked/"


class AxisRecord(NamedTuple):
    """A record with its position on the axis.

    Attributes:
        at: its position on the axis.
        place: its place in the canonical order, for first, last and collect.
        before: its lane's progress before it, which decides lateness.
    """

    record: Record
    at: int
    place: Place
    before: Progress


class Axis(Protocol):
    """One axis."""

    layout: keys.Layout

    def arrive(self, record: Record, before: Progress) -> AxisRecord | bool:
        """Return a record's position; True: not known yet; False: too late for the axis."""

    def released(self, progress: Progress) -> Iterator[AxisRecord]:
        """Return the records whose position is known now that progress has reached them."""

    def progress(self, progress: Progress) -> Progress:
        """Return the progress of the axis, given that of the stream."""

    def waiting(self) -> int:
        """The number of records without a position yet."""


class _KnownAtOnce:
    """What axes have in common whose positions are known on arrival: no record waits for one."""

    def released(self, progress: Progress) -> Iterator[AxisRecord]:
        """Return nothing."""
        return iter(())

    def waiting(self) -> int:
        """Zero."""
        return 0


class EventTime(_KnownAtOnce):
    """Microseconds of event time."""

    layout: keys.Layout = "ts_offset"

    def arrive(self, record: Record, before: Progress) -> AxisRecord | bool:
        """Return a record's position: its time."""
        place = place_of(record.ts, record.lane, record.offset)
        return AxisRecord(record, record.ts, place, before)

    def progress(self, progress: Progress) -> Progress:
        """Return the stream's progress."""
        return progress


class _Counter:
    """The number of rows numbered so far."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    @property
    def value(self) -> int:
        data = self._store.get(_COUNT)
        return 0 if data is None else msgspec.msgpack.decode(data, type=int)

    def next(self) -> int:
        """Return the number of the next row."""
        number = self.value
        self._store.put(_COUNT, msgspec.msgpack.encode(number + 1))
        return number


class LogRows(_KnownAtOnce):
    """Row numbers in the order of the only lane; control records have none.

    Args:
        past_end: a window is known to be full by the row after it.
    """

    layout: keys.Layout = "offset"

    def __init__(self, store: StateStore, *, past_end: bool) -> None:
        self._rows, self._behind = _Counter(store), int(past_end)

    def arrive(self, record: Record, before: Progress) -> AxisRecord | bool:
        """Return a record's position: after all rows so far."""
        at = self._rows.next()
        return AxisRecord(record, at, place_of(at, record.lane, record.offset), -math.inf)

    def progress(self, progress: Progress) -> Progress:
        """Return the number of rows, whatever their times."""
        return self._rows.value - self._behind


class RankedRows:
    """Row numbers in canonical order: a row is numbered once progress has passed its time.

    Args:
        store: holds the count and the rows without a number.
    """

    layout: keys.Layout = "ts_offset"

    def __init__(self, store: StateStore) -> None:
        self._rows, self._store = _Counter(store), store

    def arrive(self, record: Record, before: Progress) -> AxisRecord | bool:
        """Store a record until it can be numbered; one behind its lane's progress is too late."""
        if record.ts < before:
            return False
        name = keys.i64(record.ts) + keys.place(record.lane, record.offset)
        self._store.put(_UNRANKED + name.hex(), msgspec.msgpack.encode(record))
        return True

    def released(self, progress: Progress) -> Iterator[AxisRecord]:
        """Return the records that progress has passed, numbered in canonical order."""
        for name, data in self._store.scan(_UNRANKED):
            record = msgspec.msgpack.decode(data, type=Record)
            if record.ts >= progress:
                return
            self._store.delete(name)
            place = place_of(record.ts, record.lane, record.offset)
            yield AxisRecord(record, self._rows.next(), place, -math.inf)

    def progress(self, progress: Progress) -> Progress:
        """Return the number of numbered rows."""
        return self._rows.value

    def waiting(self) -> int:
        """The number of rows without a number."""
        return sum(1 for _ in self._store.scan(_UNRANKED))


def axis_of(window: Window, store: StateStore, *, past_end: bool) -> Axis:
    """Return the axis of a flow's windows.

    Args:
        past_end: as for `LogRows`.
    """
    if window.attribute != ROW_NUM:
        return EventTime()
    if window.traits.order is Order.CANONICAL:
        return RankedRows(store)
    return LogRows(store, past_end=past_end)


def message_place(layout: keys.Layout) -> Callable[[Place], tuple[int, str, int]]:
    """Return a place for a message key: time (0 if the layout has none), lane, offset."""
    has_time = layout not in ("offset", "eq_offset")

    def parts(place: Place) -> tuple[int, str, int]:
        at, source, partition, offset = place
        return (at if has_time else 0), f"{source}/{partition}", offset

    return parts
