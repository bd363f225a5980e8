"""Common parts of windows and sessions: axis, rows, messages, early policy."""

from __future__ import annotations

from collections.abc import Sequence

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.axis import Axis, axis_of, message_place
from windowing.engine.rows.flows.emission import Emission
from windowing.engine.rows.flows.message_store import MessageStore
from windowing.engine.rows.flows.partial import is_holistic
from windowing.engine.rows.flows.ticks import Ticks
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods, StreamFlow
from windowing.model.record import Place, Record

_MESSAGES = "message/"


class AggregatorParts:
    """The parts of the operators of windows and sessions.

    Args:
        flow: windows, aggregate, early rows.
        store: where everything is kept.
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
        self.emission = Emission(flow, self._read)
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
