"""Join written by hand: windows, policies and threads are part of the operator.

As the operators that the paper compares with: tuples are ingested by one thread, and a second one
processes the windows. Every policy is reduced to the time-based case: windows become due.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    Selection,
    Time,
    TupleCount,
    WindowClause,
)

Row = Mapping[str, Any]
PUNCTUATION = "window punctuation"


class _WindowTuple:
    """A tuple in a window.

    Attributes:
        equal: the values that a partner must equal.
    """

    __slots__ = ("arrived_us", "equal", "matched", "row")

    def __init__(self, row: Row, equal: Any, arrived_us: int) -> None:
        self.row, self.equal, self.arrived_us = row, equal, arrived_us
        self.matched = False


class _Partition:
    """One partition of a side.

    Attributes:
        rows: its tuples, oldest first.
        by_equal: the same, by the values that a partner must equal.
        expiry: the entry of the instant at which its oldest tuple expires.
        inserts: how many tuples it has received since.
    """

    __slots__ = ("by_equal", "created_us", "expiry", "inserts", "number", "rows")

    def __init__(self, number: int, now_us: int) -> None:
        self.rows: deque[_WindowTuple] = deque()
        self.by_equal: dict[Any, dict[_WindowTuple, None]] = {}
        self.number, self.created_us = number, now_us
        self.inserts = self.expiry = 0


class _Side:
    """The window of one port.

    Attributes:
        partitions: its partitions, by creation.
        updated_us: the last arrival of each, least recent first.
        total: how many tuples they have.
    """

    def __init__(self, window: WindowClause, equal: Sequence[str]) -> None:
        self.eviction: Policy = window.eviction
        self.size = self.eviction.size if isinstance(self.eviction, Count) else None
        self.period_us = self.eviction.period_us if isinstance(self.eviction, Time) else 0
        self.partition_by = window.partition_by
        self.limit: PartitionEviction | None = window.partition_eviction
        self.selection = getattr(self.limit, "selection", Selection.lru)
        self.equal = tuple(equal)
        self.partitions: dict[Any, _Partition] = {}
        self.updated_us: dict[Any, int] = {}
        self.total = 0

    def displaced(self, part: _Partition, row: Row) -> list[_WindowTuple]:
        """Return the stored tuples that a new one evicts, oldest first."""
        if self.size is not None:
            return [part.rows[0]] if len(part.rows) == self.size else []
        if not isinstance(self.eviction, Delta):
            return []
        name, threshold = self.eviction.attribute, self.eviction.threshold
        value = row[name]
        return [
            old for old in part.rows if value > old.row[name] and value - old.row[name] > threshold
        ]

    def remove(self, part: _Partition, stored: _WindowTuple) -> None:
        if part.rows[0] is stored:
            part.rows.popleft()
        else:
            part.rows.remove(stored)
        found = part.by_equal[stored.equal]
        del found[stored]
        if not found:
            del part.by_equal[stored.equal]
        self.total -= 1

    def exceeded(self, now_us: int) -> bool:
        limit = self.limit
        if isinstance(limit, PartitionCount):
            return len(self.partitions) > limit.size
        if isinstance(limit, TupleCount):
            return self.total > limit.size
        oldest_us = next(iter(self.updated_us.values()), now_us)
        return isinstance(limit, PartitionAge) and now_us - oldest_us > limit.age_us

    def victims(self, now_us: int) -> list[Any]:
        limit, keys = self.limit, list(self.updated_us)
        if isinstance(limit, PartitionAge):
            return [key for key in keys if self.updated_us[key] < now_us - limit.age_us]
        if self.selection is Selection.lfu:
            keys.sort(key=lambda key: self.partitions[key].inserts)
        elif self.selection is Selection.oldest:
            keys.sort(key=lambda key: self.partitions[key].created_us)
        if isinstance(limit, PartitionCount):
            return keys[: len(keys) - limit.size]
        first = next(n for n, key in enumerate(keys) if self.partitions[key].rows)
        return keys[: first + 1]


class Join:
    """The operator; `insert` and `tick` may be called by any one thread at a time.

    Matches are sent on port 0, with one punctuation after all matches of a tuple; tuples of an
    outer side that leave their window unmatched, too, paired with a default, or on extra ports.

    Args:
        send: receives ports, and tuples or `PUNCTUATION`, on the second thread.
        outer: whether the left side is outer, and the right.
        equal: pairs of a left and a right attribute that must be equal.
        extra_ports: send unmatched tuples on separate ports.
        defaults: the values of a missing left tuple, and of a missing right one.
    """

    def __init__(
        self,
        left: WindowClause,
        right: WindowClause,
        combine: Callable[[Row, Row], Row],
        send: Callable[[int, Any], None],
        *,
        outer: tuple[bool, bool] = (False, False),
        equal: tuple[Sequence[str], Sequence[str]] = ((), ()),
        where: Callable[[Row, Row], bool] | None = None,
        extra_ports: bool = False,
        defaults: tuple[Row, Row] = ({}, {}),
    ) -> None:
        self._sides = (_Side(left, equal[0]), _Side(right, equal[1]))
        self._combine, self._where, self._send = combine, where, send
        self._outer, self._defaults = outer, defaults
        self._extra = (1, 2 if all(outer) else 1) if extra_ports else None
        self._own_key_only = bool(left.partition_by and right.partition_by)
        self._sent = False
        # Instants just after which tuples expire, by side and partition.
        self._due: list[tuple[int, int, int, int, Any]] = []
        self._entries = self._now_us = 0
        # The second thread: `_work` is what it is to do while the first one waits.
        self._changed = threading.Condition()
        self._work: Callable[[], None] | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._process_windows, daemon=True)
        self._thread.start()

    # --- the thread that ingests --------------------------------------------------------------

    def insert(self, row: Row, port: int = 0) -> None:
        """Process a tuple of the left (0) or the right (1) side."""
        with self._changed:
            side, self._sent = self._sides[port], False
            names = side.partition_by
            key = tuple([row[name] for name in names]) if names else None
            new = _WindowTuple(row, tuple([row[name] for name in side.equal]), self._now_us)
            if isinstance(side.limit, PartitionAge):
                self._limit_partitions(side)
            if side.size == 0 or self._store(port, key, new):
                self._hand_over(lambda: self._probe(port, key, new))

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant."""
        with self._changed:
            if self._due and self._due[0] < (now_us,):
                self._hand_over(lambda: self._process_due(now_us))
            self._now_us = max(self._now_us, now_us)

    def close(self) -> None:
        """End the second thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _hand_over(self, work: Callable[[], None]) -> None:
        self._work = work
        self._changed.notify_all()
        while self._work is not None:
            self._changed.wait()
        if self._error is not None:
            raise self._error

    def _store(self, port: int, key: Any, new: _WindowTuple) -> bool:
        """Insert a tuple into its window; false: this evicted its partition."""
        side = self._sides[port]
        part = side.partitions.get(key)
        if part is None:
            self._entries += 1
            part = side.partitions[key] = _Partition(self._entries, self._now_us)
        leaving = side.displaced(part, new.row)
        if leaving:
            self._hand_over(lambda: self._evict(port, part, leaving))
        part.rows.append(new)
        part.by_equal.setdefault(new.equal, {})[new] = None
        side.total += 1
        if side.period_us and len(part.rows) == 1:
            self._await_expiry(port, key, part)
        if side.limit is None:
            return True
        part.inserts += 1
        side.updated_us.pop(key, None)
        side.updated_us[key] = self._now_us
        if not isinstance(side.limit, PartitionAge):
            self._limit_partitions(side)
        return key in side.partitions

    def _limit_partitions(self, side: _Side) -> None:
        if side.exceeded(self._now_us):
            self._hand_over(lambda: self._evict_partitions(side))

    # --- the thread that processes windows ----------------------------------------------------

    def _process_windows(self) -> None:
        with self._changed:
            while not self._closed:
                if self._work is None:
                    self._changed.wait()
                    continue
                try:
                    self._work()
                except BaseException as error:
                    self._error = error
                self._work = None
                self._changed.notify_all()

    def _probe(self, port: int, key: Any, new: _WindowTuple) -> None:
        other = self._sides[1 - port].partitions
        opposite = [other[key]] if self._own_key_only and key in other else []
        for part in opposite if self._own_key_only else other.values():
            for found in part.by_equal.get(new.equal, ()):
                pair = (new.row, found.row) if port == 0 else (found.row, new.row)
                if self._where is None or self._where(*pair):
                    new.matched = found.matched = True
                    self._send(0, self._combine(*pair))
                    self._sent = True
        if self._sides[port].size == 0 and not new.matched:
            self._send_unmatched(port, new)
        if self._sent:
            self._send(0, PUNCTUATION)

    def _evict(self, port: int, part: _Partition, leaving: Sequence[_WindowTuple]) -> None:
        for stored in leaving:
            self._sides[port].remove(part, stored)
            if not stored.matched:
                self._send_unmatched(port, stored)

    def _send_unmatched(self, port: int, stored: _WindowTuple) -> None:
        if not self._outer[port]:
            return
        if self._extra is not None:
            self._send(self._extra[port], stored.row)
            return
        missing = self._defaults[1 - port]
        pair = (stored.row, missing) if port == 0 else (missing, stored.row)
        self._send(0, self._combine(*pair))
        self._sent = True

    def _await_expiry(self, port: int, key: Any, part: _Partition) -> None:
        due_us = part.rows[0].arrived_us + self._sides[port].period_us
        self._entries += 1
        part.expiry = self._entries
        heapq.heappush(self._due, (due_us, port, part.number, self._entries, key))

    def _process_due(self, now_us: int) -> None:
        """Evict what has expired before an instant, in order."""
        while self._due and self._due[0] < (now_us,):
            due_us, port, _, entry, key = heapq.heappop(self._due)
            self._now_us = max(self._now_us, due_us)
            side = self._sides[port]
            part = side.partitions.get(key)
            if part is None or not part.rows or part.expiry != entry:
                continue  # the partition was evicted meanwhile
            period_us = side.period_us
            leaving = [one for one in part.rows if one.arrived_us + period_us <= due_us]
            self._evict(port, part, leaving)
            if part.rows:
                self._await_expiry(port, key, part)

    def _evict_partitions(self, side: _Side) -> None:
        for key in side.victims(self._now_us):
            side.total -= len(side.partitions.pop(key).rows)
            del side.updated_us[key]
