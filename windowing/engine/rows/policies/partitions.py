"""The partitions of a window: their tuples, their last updates, and which of them are evicted.

Source: Gedik 2014, sections 3.5 and 4.1.1; where the paper names no rule, the library's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from windowing.engine.rows.policies.events import Key, Row
from windowing.model.windows.policy import (
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Profile,
    Selection,
)

Entry = tuple[Row, int]
"""A tuple and its arrival, in microseconds of the window's clock."""


class Sequence(Protocol):
    """A container of a partition's tuples, oldest first."""

    def append(self, entry: Entry, /) -> None:
        """Add the newest."""

    def popleft(self) -> Entry:
        """Remove and return the oldest."""

    def clear(self) -> None:
        """Remove all."""

    def __getitem__(self, index: int, /) -> Entry: ...
    def __delitem__(self, index: int, /) -> None: ...
    def __iter__(self) -> Iterator[Entry]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Storage:
    """The containers of tuples and partitions (Gedik 2014, section 4.1.1), transparent to policies.

    Attributes:
        sequence: creates an empty sequence of tuples.
        mapping: creates an empty mapping from keys to partitions.
    """

    sequence: Callable[[], Sequence] = deque
    mapping: Callable[[], MutableMapping[Key, Any]] = dict


@dataclass
class Subwindow:
    """One partition.

    Attributes:
        entries: its tuples; empty if a summarizer holds them.
        created_us: when it was created.
        number: how many partitions were created before it.
        inserts: how many tuples it has received since its creation.
        summary: the summarizer of a tumbling window's tuples, if registered and there was a tuple.
        summarized: how many tuples the summary holds.
        reference: the first tuple of a tumbling window by delta whose tuples are not stored.
    """

    entries: Sequence
    created_us: int
    number: int
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
        get: returns the partition of a key, or None.
        updated_us: the last arrival per partition with any; least recent first.
        total: the number of tuples.
    """

    storage: Storage
    updated_us: dict[Key, int] = field(default_factory=dict)
    total: int = 0

    def __post_init__(self) -> None:
        self._subwindows: MutableMapping[Key, Subwindow] = self.storage.mapping()
        # The mapping's own method: every tuple calls it.
        self.get = self._subwindows.get
        self._created = 0

    def __len__(self) -> int:
        return len(self._subwindows)

    def __contains__(self, key: Key) -> bool:
        return key in self._subwindows

    def __getitem__(self, key: Key) -> Subwindow:
        return self._subwindows[key]

    def __iter__(self) -> Iterator[Key]:
        """Iterate over a copy of the keys, so that partitions may change meanwhile."""
        return iter(list(self._subwindows))

    def open(self, key: Key, now_us: int) -> Subwindow:
        """Return the partition of a key, creating it if necessary."""
        subwindow = self.get(key)
        if subwindow is None:
            subwindow = Subwindow(self.storage.sequence(), now_us, self._created)
            self._created += 1
            self._subwindows[key] = subwindow
        return subwindow

    def touch(self, key: Key, now_us: int) -> None:
        """Mark a partition as the most recently updated."""
        self.updated_us.pop(key, None)
        self.updated_us[key] = now_us
        self._subwindows[key].inserts += 1
        self.total += 1

    def empty(self, key: Key) -> None:
        """Drop the tuples of a partition, but keep it."""
        subwindow = self._subwindows[key]
        self.total -= len(subwindow)
        subwindow.entries.clear()
        subwindow.summary, subwindow.summarized = None, 0

    def remove(self, key: Key) -> None:
        """Delete a partition and its tuples."""
        self.total -= len(self._subwindows[key])
        del self._subwindows[key]
        self.updated_us.pop(key, None)

    def clear(self) -> None:
        """Delete all partitions."""
        self._subwindows.clear()
        self.updated_us.clear()
        self.total = 0


_SECOND_US = 1_000_000


def needed(policy: PartitionEviction, parts: Partitions, now_us: int, profile: Profile) -> bool:
    """Return whether the policy is violated, so that a partition must be evicted."""
    if isinstance(policy, PartitionCount):
        return len(parts) > policy.size
    if not isinstance(policy, PartitionAge):
        return parts.total > policy.size
    oldest_us = next(iter(parts.updated_us.values()), None)
    if oldest_us is None:
        return False
    if profile is Profile.paper:
        return now_us - oldest_us > policy.age_us
    # The library truncates the age to whole seconds.
    return _seconds(oldest_us) + _seconds(policy.age_us) < _seconds(now_us)


def choose(
    policy: PartitionEviction,
    selection: Selection,
    parts: Partitions,
    now_us: int,
    profile: Profile,
) -> list[Key]:
    """Choose the partitions to evict, in order.

    Args:
        selection: which go first; not `user`.
    """
    if isinstance(policy, PartitionAge):
        return [key for key, at in parts.updated_us.items() if _old(policy, at, now_us, profile)]
    order = _order(selection, parts)
    if isinstance(policy, PartitionCount):
        return order[: len(order) - policy.size]
    victims: list[Key] = []
    for key in order:
        victims.append(key)
        if len(parts[key]):
            break
    return victims


def _order(selection: Selection, parts: Partitions) -> list[Key]:
    keys = list(parts.updated_us)
    if selection is Selection.lfu:
        keys.sort(key=lambda key: parts[key].inserts)
    if selection is Selection.oldest:
        keys.sort(key=lambda key: parts[key].created_us)
    return keys


def _old(policy: PartitionAge, updated_us: int, now_us: int, profile: Profile) -> bool:
    if profile is Profile.paper:
        return now_us - updated_us > policy.age_us
    return _seconds(updated_us) <= _seconds(now_us) - _seconds(policy.age_us)


def _seconds(us: int) -> int:
    return us // _SECOND_US
