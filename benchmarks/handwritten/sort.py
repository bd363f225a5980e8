"""Sort written by hand: windows, policies and threads are part of the operator.

As the operators that the paper compares with: tuples are ingested by one thread, and a second one
processes the windows. Every policy is reduced to the time-based case: windows become due.
"""

from __future__ import annotations

import heapq
import threading
from bisect import insort_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

from windowing.model.windows.policy import (
    Count,
    Delta,
    Marker,
    PartitionAge,
    PartitionCount,
    Punct,
    Selection,
    Time,
    TupleCount,
    WindowClause,
)

Row = Mapping[str, Any]
PUNCTUATION = "window punctuation"


class _Partition:
    """One partition.

    Attributes:
        rows: its tuples and their arrivals, oldest first.
        expiry: the entry of the instant at which its oldest tuple expires.
        inserts: how many tuples it has received since.
    """

    __slots__ = ("created_us", "expiry", "inserts", "number", "rows")

    def __init__(self, number: int, now_us: int) -> None:
        self.rows: deque[tuple[Row, int]] = deque()
        self.number, self.created_us = number, now_us
        self.inserts = self.expiry = 0


class Sort:
    """The operator; `insert`, `punctuate` and `tick` may be called by any one thread at a time.

    Args:
        window: the policies; a sliding one has the trigger count(1).
        sort_by: attributes, the most significant first.
        send: receives tuples and `PUNCTUATION`, on the second thread.
        order: `ascending` or `descending`, one for all attributes or one each.
    """

    def __init__(
        self,
        window: WindowClause,
        sort_by: Sequence[str],
        send: Callable[[Any], None],
        *,
        order: Sequence[str] = ("ascending",),
    ) -> None:
        self._eviction, self._tumbling = window.eviction, window.kind == "tumbling"
        self._partition_by, self._limit = window.partition_by, window.partition_eviction
        self._size = self._eviction.size if isinstance(self._eviction, Count) else None
        self._period_us = self._eviction.period_us if isinstance(self._eviction, Time) else 0
        self._selection = getattr(self._limit, "selection", Selection.lru)
        orders = order if len(order) == len(sort_by) else [*order] * len(sort_by)
        self._signs = [
            (name, 1 if one == "ascending" else -1)
            for name, one in zip(sort_by, orders, strict=True)
        ]
        self._rank = cmp_to_key(self._compare)
        self._send = send
        self._partitions: dict[Any, _Partition] = {}
        # The tuples of sliding windows in order, by partition.
        self._buffers: dict[Any, list[Row]] = {}
        # The last arrival of each partition, least recent first.
        self._updated_us: dict[Any, int] = {}
        self._total = 0
        # Instants at which something is due: at it (0) or just after it (1), by rank.
        self._due: list[tuple[int, int, int, int, Any]] = []
        self._clocks: dict[Any, int] = {}
        self._entries = self._now_us = 0
        if self._tumbling and self._period_us and not self._partition_by:
            self._set_clock(None, self._period_us)
        # The second thread: `_work` is what it is to do while the first one waits.
        self._changed = threading.Condition()
        self._work: Callable[[], None] | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._process_windows, daemon=True)
        self._thread.start()

    # --- the thread that ingests --------------------------------------------------------------

    def insert(self, row: Row) -> None:
        """Process a tuple."""
        with self._changed:
            key = tuple([row[name] for name in self._partition_by]) if self._partition_by else None
            if isinstance(self._limit, PartitionAge):
                self._limit_partitions()
            if self._size == 0:
                return
            part = self._partitions.get(key)
            if part is None:
                self._entries += 1
                part = self._partitions[key] = _Partition(self._entries, self._now_us)
            if self._tumbling:
                self._insert_tumbling(key, part, row)
            else:
                self._insert_sliding(key, part, row)

    def punctuate(self, marker: Marker) -> None:
        """Process a punctuation: a window marker ends a batch, a final one empties the buffers."""
        with self._changed:
            if not self._tumbling:
                if marker is Marker.final:
                    self._hand_over(self._send_buffers)
            elif isinstance(self._eviction, Punct) and marker is Marker.window:
                self._hand_over(self._flush_all_or_punctuate)

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant."""
        with self._changed:
            if self._due and self._due[0] < (now_us, 1):
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

    def _append(self, key: Any, part: _Partition, row: Row) -> bool:
        """Store a tuple; false: this evicted its partition."""
        part.rows.append((row, self._now_us))
        self._total += 1
        if not self._tumbling:
            insort_right(self._buffers.setdefault(key, []), row, key=self._rank)
        if self._limit is None:
            return True
        part.inserts += 1
        self._updated_us.pop(key, None)
        self._updated_us[key] = self._now_us
        if not isinstance(self._limit, PartitionAge):
            self._limit_partitions()
        return key in self._partitions

    def _insert_tumbling(self, key: Any, part: _Partition, row: Row) -> None:
        eviction = self._eviction
        if isinstance(eviction, Delta) and part.rows:
            if _crosses(eviction, row, part.rows[0][0]):
                self._hand_over(lambda: self._flush(key))
        elif self._period_us and self._partition_by and key not in self._clocks:
            self._set_clock(key, self._now_us + self._period_us)
        if self._append(key, part, row) and len(part.rows) == self._size:
            self._hand_over(lambda: self._flush_and_remove(key))

    def _insert_sliding(self, key: Any, part: _Partition, row: Row) -> None:
        eviction = self._eviction
        if isinstance(eviction, Delta):
            if any(_crosses(eviction, row, old) for old, _ in part.rows):
                self._hand_over(lambda: self._evict_crossed(key, part, row))
        elif len(part.rows) == self._size:
            self._hand_over(lambda: self._evict_oldest(key, part))
        if self._append(key, part, row) and self._period_us and len(part.rows) == 1:
            self._await_expiry(key, part)

    def _compare(self, left: Row, right: Row) -> int:
        """Return whether a tuple precedes another (below zero) or follows it (above)."""
        for name, sign in self._signs:
            if left[name] != right[name]:
                return sign if left[name] > right[name] else -sign
        return 0

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

    def _flush(self, key: Any) -> None:
        part = self._partitions.get(key)
        if part is not None:
            for row in sorted((row for row, _ in part.rows), key=self._rank):
                self._send(row)
            self._total -= len(part.rows)
            part.rows.clear()
        self._send(PUNCTUATION)

    def _flush_and_remove(self, key: Any) -> None:
        self._flush(key)
        self._partitions.pop(key, None)
        self._updated_us.pop(key, None)

    def _flush_all_or_punctuate(self) -> None:
        if not self._partitions:
            self._send(PUNCTUATION)
            return
        if isinstance(self._limit, PartitionAge):
            self._evict_partitions()
        for key in list(self._partitions):
            self._flush_and_remove(key)

    def _evict_oldest(self, key: Any, part: _Partition) -> None:
        self._send_smallest(key)
        part.rows.popleft()
        self._total -= 1

    def _evict_crossed(self, key: Any, part: _Partition, row: Row) -> None:
        eviction = self._eviction
        if isinstance(eviction, Delta):
            kept = [one for one in part.rows if not _crosses(eviction, row, one[0])]
            for _ in range(len(part.rows) - len(kept)):
                self._send_smallest(key)
            self._total -= len(part.rows) - len(kept)
            part.rows = deque(kept)

    def _send_smallest(self, key: Any) -> None:
        buffer = self._buffers.get(key)
        if buffer:
            self._send(buffer.pop(0))

    def _send_buffers(self) -> None:
        for buffer in self._buffers.values():
            for row in buffer:
                self._send(row)
        self._buffers.clear()

    # --- time ---------------------------------------------------------------------------------

    def _set_due(self, due_us: int, after: int, key: Any, rank: int | None = None) -> int:
        """Note that something is due, of equal instants by rank; return the entry's number."""
        self._entries += 1
        rank = self._entries if rank is None else rank
        heapq.heappush(self._due, (due_us, after, rank, self._entries, key))
        return self._entries

    def _set_clock(self, key: Any, due_us: int) -> None:
        self._clocks[key] = self._set_due(due_us, 0, key)

    def _await_expiry(self, key: Any, part: _Partition) -> None:
        part.expiry = self._set_due(part.rows[0][1] + self._period_us, 1, key, part.number)

    def _process_due(self, now_us: int) -> None:
        while self._due and self._due[0] < (now_us, 1):
            due_us, after, _, entry, key = heapq.heappop(self._due)
            self._now_us = max(self._now_us, due_us)
            if after:
                self._expire(due_us, entry, key)
            elif self._clocks.get(key) == entry:
                self._flush_at(due_us, key)

    def _flush_at(self, due_us: int, key: Any) -> None:
        """Flush by a clock: a partition's own stops after a period without tuples."""
        del self._clocks[key]
        if isinstance(self._limit, PartitionAge):
            self._evict_partitions()
        if not self._partition_by or key in self._partitions:
            self._set_clock(key, due_us + self._period_us)
            self._flush_and_remove(key)

    def _expire(self, due_us: int, entry: int, key: Any) -> None:
        part = self._partitions.get(key)
        if part is None or not part.rows or part.expiry != entry:
            return  # the partition was evicted meanwhile
        while part.rows and part.rows[0][1] + self._period_us <= due_us:
            self._evict_oldest(key, part)
        if part.rows:
            self._await_expiry(key, part)

    # --- eviction of partitions ---------------------------------------------------------------

    def _limit_partitions(self) -> None:
        if self._exceeded():
            self._hand_over(self._evict_partitions)

    def _exceeded(self) -> bool:
        limit = self._limit
        if isinstance(limit, PartitionCount):
            return len(self._partitions) > limit.size
        if isinstance(limit, TupleCount):
            return self._total > limit.size
        oldest_us = next(iter(self._updated_us.values()), self._now_us)
        return isinstance(limit, PartitionAge) and self._now_us - oldest_us > limit.age_us

    def _evict_partitions(self) -> None:
        for key in self._victims() if self._exceeded() else ():
            self._total -= len(self._partitions.pop(key).rows)
            del self._updated_us[key]
            self._clocks.pop(key, None)
            self._buffers.pop(key, None)

    def _victims(self) -> list[Any]:
        limit, keys = self._limit, list(self._updated_us)
        if isinstance(limit, PartitionAge):
            oldest_us = self._now_us - limit.age_us
            return [key for key in keys if self._updated_us[key] < oldest_us]
        if self._selection is Selection.lfu:
            keys.sort(key=lambda key: self._partitions[key].inserts)
        elif self._selection is Selection.oldest:
            keys.sort(key=lambda key: self._partitions[key].created_us)
        if isinstance(limit, PartitionCount):
            return keys[: len(keys) - limit.size]
        first = next(n for n, key in enumerate(keys) if self._partitions[key].rows)
        return keys[: first + 1]


def _crosses(policy: Delta, new: Row, old: Row) -> bool:
    value, reference = new[policy.attribute], old[policy.attribute]
    return bool(value > reference and value - reference > policy.threshold)
