"""The base of windows, sessions and joins as row operators, with all state in a store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from windowing.engine.storage.state import StateStore
from windowing.model.record import Progress, Record

R = TypeVar("R")


class LaneRecord(NamedTuple):
    """An arriving record, and its lane's progress before it."""

    record: Record
    before: Progress


@dataclass(frozen=True)
class FlowSnapshot:
    """A snapshot of a flow's operator: the stream's progress, and the store's values by name."""

    progress: Progress
    values: dict[str, bytes]


class FlowOperator(ABC, Generic[R]):
    """A row operator driven by the stream's progress: rows are sent when it reaches them.

    Args:
        store: holds all state.
        send: receives the rows, in order.
        progress: the stream's, at which the operator begins or resumes.
    """

    def __init__(self, store: StateStore, send: Callable[[R], object], progress: Progress) -> None:
        self._state, self._send, self._progress = store, send, progress

    @abstractmethod
    def insert(self, row: LaneRecord, port: int = 0) -> bool:
        """Process a record; False: it is refused."""

    def punctuate(self, mark: Progress, port: int = 0) -> None:
        """Send the rows that progress reaches, in order."""
        self._progress = mark
        for row in self._due():
            self._send(row)

    def tick(self, now_us: int) -> None:
        """Send the rows due by wall-clock policies."""
        for row in self._ticked(now_us):
            self._send(row)

    @abstractmethod
    def purge(self) -> None:
        """Delete state that no later row can need."""

    @abstractmethod
    def entries(self) -> int:
        """The number of stored windows, messages and waiting records."""

    @abstractmethod
    def held_back(self) -> int:
        """The number of accepted records not shown yet, counted once per window."""

    def snapshot(self) -> FlowSnapshot:
        """Return progress and the content of the store."""
        return FlowSnapshot(self._progress, dict(self._state.scan("")))

    def restore(self, snapshot: FlowSnapshot) -> None:
        """Restore a snapshot."""
        for name, _ in list(self._state.scan("")):
            self._state.delete(name)
        for name, value in snapshot.values.items():
            self._state.put(name, value)
        self._progress = snapshot.progress

    @abstractmethod
    def _due(self) -> Sequence[R]:
        """Yield the rows whose instant progress has reached, in order."""

    @abstractmethod
    def _ticked(self, now_us: int) -> Sequence[R]:
        """Yield the rows due now by wall-clock policies."""
