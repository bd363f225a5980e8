"""Window events and their handlers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from windowing.model.windows.policy import PolicyError

Key = Hashable
Row = Any


class Event(StrEnum):
    """The kinds of window events; each has one slot for a handler (Gedik 2014, section 4.1.2)."""

    before_insert = "beforeInsert"
    after_insert = "afterInsert"
    before_flush = "beforeFlush"
    after_flush = "afterFlush"
    empty_window_punct = "emptyWindowPunct"
    before_evict = "beforeEvict"
    after_evict = "afterEvict"
    trigger = "trigger"
    initial_full = "initialFull"
    partition_eviction = "partitionEviction"
    before_close = "beforeClose"


_KINDS = [kind.value for kind in Event]


EARLY, ON_COMPLETE, LATE = "early", "onComplete", "late"


@dataclass
class Pane:
    """One pane: the tuples whose time lies in [start, end).

    Attributes:
        complete: whether a watermark has passed the end.
        timing: of the next report: early, onComplete or late.
        index: the number of reports so far.
        rows: its tuples, by partition.
        updated: partitions with tuples since the last report.
    """

    start: int
    end: int
    complete: bool = False
    timing: str = EARLY
    index: int = 0
    rows: dict[Key, list[Row]] = field(default_factory=dict)
    updated: dict[Key, None] = field(default_factory=dict)


class WindowEvent(NamedTuple):
    """One window event.

    Attributes:
        key: the partition; None for a window that is not partitioned.
        row: the tuple, for inserts and evictions.
        victims: for a partition eviction, the partitions in the order of their choice.
        pane: the pane of an interval window.
    """

    kind: Event
    key: Key = None
    row: Row = None
    victims: tuple[Key, ...] = ()
    pane: Pane | None = None


Handler = Callable[[WindowEvent], None]


class Handlers:
    """One handler per kind of event; an empty slot costs one look-up.

    Attributes:
        of_inserts: whether there is one for inserts, which every tuple asks for.
    """

    def __init__(self) -> None:
        self._slots: dict[Event, Handler] = {}
        self.of_inserts = False

    def register(self, kind: Event | str, handler: Handler | None) -> Handler | None:
        """Set the handler of a kind, or clear it; return the previous one.

        Raises:
            PolicyError: there is no such kind of event.
        """
        if kind not in _KINDS:
            msg = f"{kind!r} is no window event: there are {', '.join(_KINDS)}"
            raise PolicyError(msg)
        kind = Event(kind)
        before = self._slots.pop(kind, None)
        if handler is not None:
            self._slots[kind] = handler
        self.of_inserts = Event.before_insert in self._slots or Event.after_insert in self._slots
        return before

    def tell(
        self,
        kind: Event,
        key: Key = None,
        row: Row = None,
        victims: tuple[Key, ...] = (),
        pane: Pane | None = None,
    ) -> None:
        """Call the handler of an event, if there is one."""
        handler = self._slots.get(kind)
        if handler is not None:
            handler(WindowEvent(kind, key, row, victims, pane))
