"""What windows, sessions and joins share as row operators: they keep everything in a store."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from windowing.engine.state import StateStore
from windowing.model.record import Progress, Record

R = TypeVar("R")


class Arrival(NamedTuple):
    """A record as it arrives.

    Attributes:
        record: the record.
        before: how far its lane was before it.
    """

    record: Record
    before: Progress


@dataclass(frozen=True)
class Stored:
    """What a flow's operator remembers.

    Attributes:
        progress: how far the stream had got.
        values: of its store, by name.
    """

    progress: Progress
    values: dict[str, bytes]


class FlowOperator(ABC, Generic[R]):
    """A row operator whose marks are the stream's progress; rows are sent as progress reaches them.

    Args:
        store: where everything is kept.
        send: gets the rows, in order.
        progress: how far the stream has got, of an operator that goes on over a store.
    """

    def __init__(
        self, store: StateStore, send: Callable[[R], object], progress: Progress = -math.inf
    ) -> None:
        self._state, self._send, self._progress = store, send, progress

    @abstractmethod
    def insert(self, row: Arrival, port: int = 0) -> bool:
        """Take a record; False: nothing takes it."""

    def punctuate(self, mark: Progress, port: int = 0) -> None:
        """Send the rows that progress reaches, in their order."""
        self._progress = mark
        for row in self._due():
            self._send(row)

    def tick(self, now_us: int) -> None:
        """Send the rows that policies of the wall clock ask for."""
        for row in self._ticked(now_us):
            self._send(row)

    @abstractmethod
    def purge(self) -> None:
        """Forget what no later row can need."""

    @abstractmethod
    def entries(self) -> int:
        """How many windows, messages and waiting records are stored."""

    @abstractmethod
    def held_back(self) -> int:
        """How many accepted records no row shows yet, once for every window."""

    def snapshot(self) -> Stored:
        """Progress, and all that the store has."""
        return Stored(self._progress, dict(self._state.scan("")))

    def restore(self, snapshot: Stored) -> None:
        """Go back to a snapshot."""
        for name, _ in list(self._state.scan("")):
            self._state.delete(name)
        for name, value in snapshot.values.items():
            self._state.put(name, value)
        self._progress = snapshot.progress

    @abstractmethod
    def _due(self) -> Sequence[R]:
        """The rows whose instant progress has reached, in their order."""

    @abstractmethod
    def _ticked(self, now_us: int) -> Sequence[R]:
        """The rows that policies of the wall clock ask for now."""
