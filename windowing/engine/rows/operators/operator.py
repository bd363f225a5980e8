"""The base of SPL's operators: row operators with output ports, over policy windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from windowing.engine.rows.policies import (
    Clock,
    Marker,
    SlidingWindow,
    Storage,
    Summarizer,
    TumblingWindow,
)
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.window import PolicyWindow, advance_together
from windowing.model.windows.policy import Profile, WindowClause

Tuple = Mapping[str, Any]
"""A tuple of a stream: its attributes by name."""


@dataclass(frozen=True)
class Punctuation:
    """A window punctuation in the output: it ends a group of tuples."""


@dataclass(frozen=True)
class PortOutput:
    """An output of an operator."""

    port: int
    item: Tuple | Punctuation


class Operator(ABC):
    """A `RowOperator` over policy windows.

    Args:
        send: receives the output, in order.
    """

    _windows: Sequence[PolicyWindow]
    """The operator's windows, which share a clock; a subclass opens them."""

    def __init__(self, send: Callable[[PortOutput], None]) -> None:
        self._send = send

    @abstractmethod
    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple on an input port; none is refused."""

    def punctuate(self, marker: Marker, port: int = 0) -> None:  # noqa: B027 - may be overridden
        """Process a punctuation on an input port; by default, ignore it."""

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant of the clock."""
        advance_together(self._windows, now_us)

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""
        due = (window.next_due_us() for window in self._windows)
        return min((us for us in due if us is not None), default=None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Take the locks of all windows, in order; see `PolicyWindow.locked`."""
        with ExitStack() as locks:
            for window in self._windows:
                locks.enter_context(window.locked())
            yield

    def purge(self) -> None:  # noqa: B027 - overriding is optional
        """Do nothing: policies decide what leaves a window."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """Return the operator's state, as plain values and the tuples themselves."""

    @abstractmethod
    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot; see `PolicyWindow.restore`."""

    def _emit(self, row: Tuple, port: int = 0) -> None:
        self._send(PortOutput(port, row))

    def _emit_punctuation(self, port: int = 0) -> None:
        self._send(PortOutput(port, Punctuation()))


class WindowOperator(Operator):
    """An operator over one window; by default, the window is its state."""

    def __init__(
        self, window: TumblingWindow | SlidingWindow, send: Callable[[PortOutput], None]
    ) -> None:
        super().__init__(send)
        self._window, self._windows = window, [window]

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple."""
        self._window.insert(row)
        return True

    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Process a punctuation; final ones flush nothing, and sliding windows ignore all."""
        if marker is Marker.window and isinstance(self._window, TumblingWindow):
            self._window.take_marker(marker)

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the window."""
        return {"window": self._window.snapshot()}

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        self._window.restore(snapshot["window"], timers=timers)


def open_window(
    clause: WindowClause,
    profile: Profile,
    clock: Clock | None,
    storage: Storage | None = None,
    summarizer: Callable[[Key], Summarizer] | None = None,
) -> TumblingWindow | SlidingWindow:
    """Build the window of a clause; only a tumbling one has summarizers."""
    more = {
        "partition_by": clause.partition_by or None,
        "partition_eviction": clause.partition_eviction,
        "profile": profile,
        "clock": clock,
        "storage": storage,
    }
    if clause.kind == "tumbling":
        return TumblingWindow(clause.eviction, summarizer=summarizer, **more)
    assert clause.trigger is not None  # noqa: S101 - ensured by the operators' models
    return SlidingWindow(clause.eviction, clause.trigger, **more)
