"""The base of SPL's operators: row operators with output ports, over policy windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from windowing.engine.rows.policies import Marker

Tuple = Mapping[str, Any]
"""A tuple of a stream: its attributes by name."""


@dataclass(frozen=True)
class Punctuation:
    """A window punctuation in the output: it ends a group of tuples."""


@dataclass(frozen=True)
class Sent:
    """An output of an operator.

    Attributes:
        port: the output port.
        item: a tuple, or a punctuation.
    """

    port: int
    item: Tuple | Punctuation


class Operator(ABC):
    """A `RowOperator` over policy windows.

    Args:
        send: receives the output, in order.
    """

    def __init__(self, send: Callable[[Sent], None]) -> None:
        self._send = send

    @abstractmethod
    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple on an input port; none is refused."""

    @abstractmethod
    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Process a punctuation on an input port."""

    @abstractmethod
    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant of the clock."""

    @abstractmethod
    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""

    def locked(self) -> AbstractContextManager[Any]:
        """Return the lock for calls from a second thread; see `PolicyWindow.locked`."""
        return nullcontext()

    def purge(self) -> None:  # noqa: B027 - overriding is optional
        """Do nothing: policies decide what leaves a window."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """Return the operator's state, as plain values and the tuples themselves."""

    @abstractmethod
    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot; see `PolicyWindow.restore`."""

    def _emit(self, row: Tuple, port: int = 0) -> None:
        self._send(Sent(port, row))

    def _emit_punctuation(self, port: int = 0) -> None:
        self._send(Sent(port, Punctuation()))
