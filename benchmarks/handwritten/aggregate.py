"""Aggregate written by hand: windows, policies and threads are part of the operator.

As the operators that the paper compares with: tuples are ingested by one thread, and a second one
processes the windows. Every policy is reduced to the time-based case: windows become due.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windowing.engine.rows.operators.functions import FUNCTIONS, Group
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


@dataclass(slots=True)
class _Partition:
    """One partition.

    Attributes:
        rows: its tuples and their arrivals, oldest first.
        expiry: the entry of the instant at which its oldest tuple expires.
        inserts: how many tuples it has received since.
        received: how many since the last report.
        reference: the attribute that a delta trigger compares with.
    """

    number: int
    created_us: int
    rows: deque[tuple[Row, int]] = field(default_factory=deque)
    expiry: int = 0
    inserts: int = 0
    received: int = 0
    reference: Any = None
    full: bool = False


class Aggregate:
    """The operator; `insert`, `punctuate` and `tick` may be called by any one thread at a time.

    Args:
        outputs: the name of a function and its arguments, by output attribute.
        send: receives tuples and `PUNCTUATION`, on the second thread.
        partial_windows: also report before the window was first full.
    """

    def __init__(
        self,
        window: WindowClause,
        outputs: Mapping[str, tuple[str, Sequence[str]]],
        send: Callable[[Any], None],
        *,
        group_by: Sequence[str] = (),
        partial_windows: bool = False,
        evicted_partitions: bool = False,
    ) -> None:
        self._window, self._eviction, self._trigger = window, window.eviction, window.trigger
        self._tumbling = window.kind == "tumbling"
        self._partition_by, self._limit = window.partition_by, window.partition_eviction
        self._size = self._eviction.size if isinstance(self._eviction, Count) else None
        self._period_us = self._eviction.period_us if isinstance(self._eviction, Time) else 0
        self._every_us = self._trigger.period_us if isinstance(self._trigger, Time) else 0
        self._selection = getattr(self._limit, "selection", Selection.lru)
        self._outputs = [(name, FUNCTIONS[f][1], args) for name, (f, args) in outputs.items()]
        self._send, self._group_by = send, group_by
        self._partial, self._reports_victims = partial_windows, evicted_partitions
        self._partitions: dict[Any, _Partition] = {}
        # The last arrival of each partition, least recent first.
        self._updated_us: dict[Any, int] = {}
        # Instants at which something is due: at it (0) or just after it (1), by rank.
        self._due: list[tuple[int, int, int, int, Any]] = []
        self._clocks: dict[Any, int] = {}
        self._entries = self._now_us = self._total = 0
        self._start_clock()
        # The second thread: `_work` is what it is to do while the first one waits.
        self._changed = threading.Condition()
        self._work: Callable[[], None] | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._process_windows, daemon=True)
        self._thread.start()

    def insert(self, row: Row) -> None:
        """Process a tuple."""
        with self._changed:
            key = tuple([row[name] for name in self._partition_by]) if self._partition_by else None
            if self._limit is not None and isinstance(self._limit, PartitionAge):
                self._limit_partitions()
            if self._tumbling:
                self._insert_tumbling(key, row)
            else:
                self._insert_sliding(key, row)

    def punctuate(self, marker: Marker) -> None:
        """Process a punctuation."""
        if self._tumbling and isinstance(self._eviction, Punct) and marker is Marker.window:
            with self._changed:
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

    def _open(self, key: Any) -> _Partition:
        part = self._partitions.get(key)
        if part is None:
            self._entries += 1
            part = self._partitions[key] = _Partition(self._entries, self._now_us)
        return part

    def _append(self, key: Any, part: _Partition, row: Row) -> bool:
        """Store a tuple; false: this evicted its partition."""
        part.rows.append((row, self._now_us))
        self._total += 1
        if self._limit is None:
            return True
        part.inserts += 1
        self._updated_us.pop(key, None)
        self._updated_us[key] = self._now_us
        if not isinstance(self._limit, PartitionAge):
            self._limit_partitions()
        return key in self._partitions

    def _insert_tumbling(self, key: Any, row: Row) -> None:
        eviction = self._eviction
        if self._size == 0:
            return
        part = self._open(key)
        if self._size is None:
            if isinstance(eviction, Delta) and part.rows:
                if _crosses(eviction, row, part.rows[0][0][eviction.attribute]):
                    self._hand_over(lambda: self._flush(key))
            elif isinstance(eviction, Time) and self._partition_by and key not in self._clocks:
                self._set_clock(key, self._now_us + self._period_us)
        if self._append(key, part, row) and len(part.rows) == self._size:
            self._hand_over(lambda: self._flush_and_remove(key))

    def _insert_sliding(self, key: Any, row: Row) -> None:
        """Process a tuple in the order of its policies: a delta trigger precedes the insert."""
        part, trigger = self._open(key), self._trigger
        if isinstance(trigger, Delta):
            fires = part.reference is not None and _crosses(trigger, row, part.reference)
            if self._displaces(part, row) or fires:
                self._hand_over(lambda: self._report_and_evict(key, part, row, fires=fires))
            if part.reference is None or fires:
                part.reference = row[trigger.attribute]
            self._store(key, part, row)
            return
        if self._displaces(part, row):
            self._hand_over(lambda: self._report_and_evict(key, part, row, fires=False))
        if not self._store(key, part, row) or not isinstance(trigger, Count):
            return
        part.received += 1
        if part.received == trigger.size:
            part.received = 0
            self._hand_over(lambda: self._report(key))

    def _displaces(self, part: _Partition, row: Row) -> bool:
        if self._size is not None:
            return 0 < self._size == len(part.rows)
        eviction = self._eviction
        if not isinstance(eviction, Delta):
            return False
        return any(_crosses(eviction, row, old[eviction.attribute]) for old, _ in part.rows)

    def _store(self, key: Any, part: _Partition, row: Row) -> bool:
        """Insert a tuple into a sliding window; false: this evicted its partition."""
        if self._size == 0:
            return True
        if not self._append(key, part, row):
            return False
        if len(part.rows) == self._size:
            part.full = True
        elif isinstance(self._eviction, Time) and len(part.rows) == 1:
            self._await_expiry(key, part)
        return True

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

    def _report(self, key: Any) -> None:
        """Aggregate a partition, unless its window is partial."""
        part = self._partitions.get(key)
        if self._partial or (part is not None and part.full):
            self._aggregate(key)

    def _aggregate(self, key: Any) -> None:
        part = self._partitions.get(key)
        rows = [] if part is None else [row for row, _ in part.rows]
        groups: dict[Any, list[Row]] = {}
        if self._group_by:
            for row in rows:
                groups.setdefault(tuple([row[name] for name in self._group_by]), []).append(row)
        elif rows:
            groups[()] = rows
        sizes = [len(members) for members in groups.values()]
        for members in groups.values():
            group = Group(members, sizes, len(rows))
            self._send({name: f(group, args) for name, f, args in self._outputs})
        self._send(PUNCTUATION)

    def _report_and_evict(self, key: Any, part: _Partition, row: Row, *, fires: bool) -> None:
        eviction = self._eviction
        if isinstance(eviction, Delta) and self._displaces(part, row):
            part.full = True
        if fires:
            self._report(key)
        if isinstance(eviction, Delta):
            name = eviction.attribute
            kept = [one for one in part.rows if not _crosses(eviction, row, one[0][name])]
            self._total -= len(part.rows) - len(kept)
            part.rows = deque(kept)
        elif self._displaces(part, row):
            part.rows.popleft()
            self._total -= 1

    def _flush(self, key: Any) -> None:
        self._aggregate(key)
        part = self._partitions.get(key)
        if part is not None:
            self._total -= len(part.rows)
            part.rows.clear()

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

    def _start_clock(self) -> None:
        """Start the clock that all partitions have in common, if the policies have one."""
        if self._every_us:
            self._set_due(self._every_us, 0, None)
        elif self._tumbling and isinstance(self._eviction, Time) and not self._partition_by:
            self._set_clock(None, self._period_us)

    def _set_due(self, due_us: int, after: int, key: Any, rank: int | None = None) -> int:
        """Note that something is due, of equal instants by rank; return the entry's number."""
        self._entries += 1
        rank = self._entries if rank is None else rank
        heapq.heappush(self._due, (due_us, after, rank, self._entries, key))
        return self._entries

    def _set_clock(self, key: Any, due_us: int) -> None:
        self._clocks[key] = self._set_due(due_us, 0, key)

    def _process_due(self, now_us: int) -> None:
        while self._due and self._due[0] < (now_us, 1):
            due_us, after, _, entry, key = heapq.heappop(self._due)
            self._now_us = max(self._now_us, due_us)
            if self._tumbling:
                if self._clocks.get(key) == entry:
                    self._flush_at(due_us, key)
            elif after:
                self._expire(due_us, entry, key)
            else:
                self._report_all(due_us)

    def _flush_at(self, due_us: int, key: Any) -> None:
        """Flush by a clock: a partition's own stops after a period without tuples."""
        del self._clocks[key]
        if isinstance(self._limit, PartitionAge):
            self._evict_partitions()
        if not self._partition_by or key in self._partitions:
            self._set_clock(key, due_us + self._period_us)
            self._flush_and_remove(key)

    def _expire(self, due_us: int, entry: int, key: Any) -> None:
        """Evict tuples that have outlived the period, which makes the window full."""
        part = self._partitions.get(key)
        if part is None or not part.rows or part.expiry != entry:
            return  # the partition was evicted meanwhile
        part.full = True
        while part.rows and part.rows[0][1] + self._period_us <= due_us:
            part.rows.popleft()
            self._total -= 1
        if part.rows:
            self._await_expiry(key, part)

    def _await_expiry(self, key: Any, part: _Partition) -> None:
        part.expiry = self._set_due(part.rows[0][1] + self._period_us, 1, key, part.number)

    def _report_all(self, due_us: int) -> None:
        if isinstance(self._limit, PartitionAge):
            self._evict_partitions()
        for key in list(self._partitions) if self._partition_by else [None]:
            self._report(key)
        self._set_due(due_us + self._every_us, 0, None)

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
        if not self._exceeded():
            return
        victims = self._victims()
        if self._reports_victims:
            for key in victims:
                self._aggregate(key)
        for key in victims:
            self._total -= len(self._partitions.pop(key).rows)
            del self._updated_us[key]
            self._clocks.pop(key, None)

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


def _crosses(policy: Delta, new: Row, reference: Any) -> bool:
    value = new[policy.attribute]
    return bool(value > reference and value - reference > policy.threshold)
