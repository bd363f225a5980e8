"""Common parts of windows and sessions: axis, rows, messages, early policy.

Full and late rows share one count of revisions; early rows have their own, so that provisional rows
never affect the other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.axis import Axis, axis_of, message_place
from windowing.engine.rows.flows.partial import Partial, fold_of, is_holistic
from windowing.engine.rows.flows.stores import MessageStore, StoredWindow, Ticks
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods, StreamFlow
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.record import Place, Record, Value, WindowRow, WindowView, lane_order


class WindowRows:
    """The builder of one aggregator's rows.

    Args:
        read: returns the values of a group's records at places, for holistic aggregates.
    """

    def __init__(
        self, flow: StreamFlow, read: Callable[[str | None, Sequence[Place]], list[int]]
    ) -> None:
        self._fold, self._mode, self._read = fold_of(flow), flow.accumulation, read

    def full(self, held: StoredWindow) -> list[WindowRow]:
        """Return revision 0."""
        held.revision = 0
        return self._rows(held, "full", 0)

    def late(self, held: StoredWindow) -> list[WindowRow]:
        """Return the next revision; at least 1, even without a full row."""
        held.revision = max(held.revision + 1, 1)
        return self._rows(held, "late", held.revision)

    def early(self, held: StoredWindow) -> list[WindowRow]:
        """Return the next provisional row."""
        held.early += 1
        return self._rows(held, "early", held.early)

    def tombstone(self, held: StoredWindow, absorbed_by: int) -> list[WindowRow]:
        """Return the tombstone of an absorbed session: its last row, empty."""
        early = held.revision < 0
        row = WindowRow(
            start=held.start,
            end=held.shown_end,
            key=held.key,
            pane="early" if early else "late",
            revision=held.early + 1 if early else held.revision + 1,
            records=0,
            value=None,
            offsets={},
            absorbed_by=absorbed_by,
        )
        return [*self._taken_back(held), row]

    def view(self, held: StoredWindow, *, pending: bool) -> WindowView:
        """Return a window as a query of the store shows it."""
        content = held.content
        value, _ = self._value(held.key, content)
        return WindowView(
            start=held.start,
            end=held.end,
            key=held.key,
            records=content.records,
            value=value,
            offsets=_in_order(content.offsets),
            pending=held.pending if pending else None,
        )

    def _rows(self, held: StoredWindow, pane: str, revision: int) -> list[WindowRow]:
        shown = held.fresh if self._mode == "discarding" else held.content
        value, overflow = self._value(held.key, shown)
        row = WindowRow(
            start=held.start,
            end=held.end,
            key=held.key,
            pane=pane,  # type: ignore[arg-type]
            revision=revision,
            records=shown.records,
            value=value,
            offsets=_in_order(shown.offsets),
            overflow=overflow,
        )
        rows = [*self._taken_back(held), row]
        if self._mode == "retracting":
            held.shown = row
        held.shown_end, held.fresh, held.news = held.end, Partial(), 0
        return rows

    def _taken_back(self, held: StoredWindow) -> list[WindowRow]:
        return [] if held.shown is None else [replace(held.shown, retracts=True)]

    def _value(self, key: str | None, partial: Partial) -> tuple[Value, bool]:
        """Return the value, and whether it is null as it leaves int64."""
        if not partial.records:
            return self._fold.empty, False

        def read(places: Sequence[Place]) -> list[int]:
            return self._read(key, places)

        value = self._fold.result(partial.state, partial.records, read)
        overflow = isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX
        return (None if overflow else value), overflow


def _in_order(offsets: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {lane: offsets[lane] for lane in sorted(offsets, key=lane_order)}


_MESSAGES = "message/"


class AggregatorParts:
    """The parts of the operators of windows and sessions.

    Args:
        layout: of message keys; None: the axis's default.
        past_end: close a window over rows by the row after its last.
    """

    def __init__(
        self,
        flow: StreamFlow,
        store: StateStore,
        layout: keys.Layout | None = None,
        *,
        past_end: bool = False,
    ) -> None:
        self.holistic = is_holistic(flow)
        self._grouped, self._early = bool(flow.group_by), flow.early
        self.axis: Axis = axis_of(flow.window, store, past_end=past_end)
        self.ticks = Ticks(store)
        self.rows = WindowRows(flow, self._read)
        self._layout = layout or self.axis.layout
        self._parts_of = message_place(self._layout)
        self._messages = (
            MessageStore(store, self._layout, _MESSAGES, Record) if self.holistic else None
        )

    def group(self, record: Record) -> str | None:
        """Return the key of a record's windows."""
        return record.key if self._grouped else None

    def keep(self, record: Record, place: Place) -> None:
        """Put a record into the message store, if there is one."""
        if self._messages is not None:
            self._messages.put(self._name(self.group(record), place), record)

    def forget(self, group: str | None, place: Place) -> None:
        """Delete a record from the message store."""
        if self._messages is not None:
            self._messages.delete(self._name(group, place))

    def early_due(self, wall: int) -> int | None:
        """Return how many new records make an early row due at this call; None: none is due."""
        early = self._early
        if early is None or early.every_us is None:
            return None if early is None else early.records
        return 1 if self.ticks.due("early", wall, Periods(early.every_us)) else None

    def messages(self) -> list[Record]:
        """Return all stored records in the order of their keys; empty without a message store."""
        return [] if self._messages is None else [record for _, record in self._messages.all()]

    @property
    def in_offsets(self) -> bool:
        """Return whether a range of messages is by offset, not by time."""
        return "ts" not in self._layout

    def _read(self, group: str | None, places: Sequence[Place]) -> list[int]:
        assert self._messages is not None  # noqa: S101 - only holistic aggregates read
        return [self._messages.get(self._name(group, place)).value for place in places]

    def _name(self, group: str | None, place: Place) -> str:
        assert self._messages is not None  # noqa: S101 - see the callers
        ts, lane, offset = self._parts_of(place)
        return self._messages.name(ts=ts, group=group, lane=lane, offset=offset)
