"""The partitions of a window: their tuples, and who was updated when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from windowing.engine.rows.policies.events import Key, Row

Entry = tuple[Row, int]
"""A tuple, and the instant at which it came, in microseconds of the window's clock."""


class Sequence(Protocol):
    """What holds the tuples of a partition, oldest first."""

    def append(self, entry: Entry, /) -> None:
        """Add the newest."""

    def popleft(self) -> Entry:
        """Remove the oldest, and give it."""

    def clear(self) -> None:
        """Remove all."""

    def __getitem__(self, index: int, /) -> Entry: ...
    def __delitem__(self, index: int, /) -> None: ...
    def __iter__(self) -> Iterator[Entry]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Storage:
    """Where tuples and partitions are kept (Gedik 2014, section 4.1.1); policies see no difference.

    Attributes:
        sequence: makes an empty sequence of tuples.
        mapping: makes an empty mapping from keys to partitions.
    """

    sequence: Callable[[], Sequence] = deque
    mapping: Callable[[], MutableMapping[Key, Any]] = dict


@dataclass
class Subwindow:
    """One partition.

    Attributes:
        entries: its tuples; empty where a summarizer holds them.
        created_us: when it was made.
        inserts: how many tuples it has got since.
        summary: what summarizes the tuples of a tumbling window, if one is registered and there
            was a tuple.
        summarized: how many tuples the summary holds.
        reference: the first tuple of a tumbling window by delta whose tuples are not stored.
    """

    entries: Sequence
    created_us: int
    inserts: int = 0
    summary: Any = None
    summarized: int = 0
    reference: Row = None

    def __len__(self) -> int:
        return len(self.entries) + self.summarized


@dataclass
class Partitions:
    """All partitions of a window.

    Attributes:
        storage: what they are kept in.
        updated_us: of each that has got a tuple, when it got the last one; least recent first.
        total: how many tuples there are.
    """

    storage: Storage
    updated_us: dict[Key, int] = field(default_factory=dict)
    total: int = 0

    def __post_init__(self) -> None:
        self._subwindows = self.storage.mapping()

    def __len__(self) -> int:
        return len(self._subwindows)

    def __contains__(self, key: Key) -> bool:
        return key in self._subwindows

    def __getitem__(self, key: Key) -> Subwindow:
        subwindow: Subwindow = self._subwindows[key]
        return subwindow

    def get(self, key: Key) -> Subwindow | None:
        """The partition of a key; None: there is none."""
        return self._subwindows.get(key)

    def __iter__(self) -> Iterator[Key]:
        """The keys of all partitions that there are now, whatever becomes of them meanwhile."""
        return iter(list(self._subwindows))

    def open(self, key: Key, now_us: int) -> Subwindow:
        """The partition of a key, which is made if there is none."""
        subwindow: Subwindow | None = self._subwindows.get(key)
        if subwindow is None:
            subwindow = Subwindow(self.storage.sequence(), now_us)
            self._subwindows[key] = subwindow
        return subwindow

    def touch(self, key: Key, now_us: int) -> None:
        """Say that a partition has got a tuple: it is the most recently updated now."""
        self.updated_us.pop(key, None)
        self.updated_us[key] = now_us
        self._subwindows[key].inserts += 1
        self.total += 1

    def empty(self, key: Key) -> None:
        """Drop the tuples of a partition; it stays."""
        subwindow = self._subwindows[key]
        self.total -= len(subwindow)
        subwindow.entries.clear()
        subwindow.summary, subwindow.summarized = None, 0

    def remove(self, key: Key) -> None:
        """Forget a partition and its tuples."""
        self.total -= len(self._subwindows[key])
        del self._subwindows[key]
        self.updated_us.pop(key, None)

    def clear(self) -> None:
        """Forget all of them."""
        self._subwindows = self.storage.mapping()
        self.updated_us.clear()
        self.total = 0
