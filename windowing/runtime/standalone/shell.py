"""The shell around a row operator: calls, replays, back-pressure, checkpoints.

One call is one micro-batch. Its rows are sent one by one; a consumer that refuses one disables
input until a later `timeout` has sent the rest. When everything is sent, state that no row can need
is purged and the changes become the checkpoint. Without a consumer, rows accumulate for
`get_result`, and `flush` purges and checkpoints.

Source: SAMZA-552, "Operator APIs" and "Checkpoint"; one atomic checkpoint per call is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from windowing.engine.rows.flows.operator import FlowOperator, LaneRecord
from windowing.engine.storage.state import MemoryStore, StateStore
from windowing.model.flow import JoinFlow, LaneStart, StreamFlow
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Bound, Progress, Reason, Record, Refusal
from windowing.runtime.standalone.errors import SelectorDisabled, StoreFull
from windowing.runtime.standalone.lanes import Lanes

R = TypeVar("R")
Op = TypeVar("Op", bound=FlowOperator[Any])


@dataclass
class CallReport:
    """The fate of a call's records, besides the rows.

    Attributes:
        dead: dead letters, in the order of the records.
        dropped: how many late records the policy `drop` dropped.
        replayed: how many records the lanes had already passed.
    """

    dead: list[Refusal] = field(default_factory=list)
    dropped: int = 0
    replayed: int = 0


@dataclass(frozen=True)
class OperatorSnapshot(Generic[R]):
    """An operator's state beyond its checkpoint.

    Attributes:
        changes: those since the checkpoint, by name.
        unsent: rows that the consumer has not taken.
    """

    changes: dict[str, bytes | None]
    unsent: tuple[R, ...]
    enabled: bool


class StandaloneOperator(Generic[R, Op]):
    """The shell of a row operator, the base of `WindowedAggregator` and `WindowJoin`.

    Args:
        lanes: all partitions that are read; progress waits for each of them.
        disorder: what a data record promises: with a slack, that nothing older than its time minus
            the slack follows in its lane; with punctuation nothing, as only control records do.
        make: builds the row operator from a store, a receiver of rows, and the stream's progress.
        consumer: takes a row, or refuses it by returning False; None: standalone.
        store: holds the checkpoint; an operator over another's store resumes it.

    Raises:
        ValueError: a lane is named twice.
    """

    def __init__(
        self,
        flow: StreamFlow | JoinFlow,
        lanes: Sequence[LaneStart],
        disorder: Slack | Punctuation,
        make: Callable[[StateStore, Callable[[R], object], Progress], Op],
        *,
        consumer: Callable[[R], bool] | None,
        store: StateStore | None,
    ) -> None:
        self._flow, self._make, self._consumer = flow, make, consumer
        self._ports = {lane.name: int(lane.side == "right") for lane in lanes}
        if len(self._ports) < len(lanes):
            names = [lane.name for lane in lanes]
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"lane {twice} stands twice: name each partition once"
            raise ValueError(msg)
        self._draft = Draft(MemoryStore() if store is None else store)
        self._lanes = Lanes(lanes, disorder, self._draft)
        self._unsent: list[R] = []
        self._operator = self._made()
        self._enabled = True

    @property
    def progress(self) -> Progress:
        """The stream's progress; minus infinity while any lane has no bound."""
        return self._lanes.progress

    @property
    def lanes(self) -> dict[str, tuple[int, Progress]]:
        """The next offset and the progress per lane."""
        return {name: (lane.next, lane.progress) for name, lane in self._lanes.by_name.items()}

    @property
    def held_back(self) -> int:
        """The number of accepted records not shown yet, counted once per window."""
        return self._operator.held_back()

    @property
    def enabled(self) -> bool:
        """Whether `add` takes records."""
        return self._enabled

    def add(self, records: Sequence[Record | Bound], wall: int) -> CallReport:
        """Process the records of one micro-batch, and send what is due.

        Args:
            records: each lane's in offset order; those already passed are no-ops.
            wall: the caller's clock, for early rows and the like; it does not affect final content.

        Raises:
            SelectorDisabled, DenseOffsetGap, UnknownLane, RecordAfterEnd, StoreFull: nothing of the
                call was applied.
        """
        if not self._enabled:
            raise SelectorDisabled(len(self._unsent))
        self._lanes.check(records)
        before = self._draft.changes()
        report = self._apply(records)
        limit = self._flow.entries_max
        # Calls with only control records are always accepted, as these free state.
        if limit is not None and any(isinstance(record, Record) for record in records):
            entries = self._operator.entries()
            if entries > limit:
                self._resume(before)
                raise StoreFull(entries, limit)
        self._operator.punctuate(self.progress)
        self._evaluate(wall)
        return report

    def timeout(self, wall: int) -> None:
        """Resend refused rows; then evaluate wall-clock policies."""
        if not self._enabled:
            self._send()
        if self._enabled:
            self._evaluate(wall)

    def get_result(self) -> list[R]:
        """Return the rows since the last `flush`, or those that the consumer has not taken."""
        return list(self._unsent)

    def flush(self) -> None:
        """Without a consumer: drop the rows, purge, and make a checkpoint.

        Raises:
            SelectorDisabled: a consumer has not taken them.
        """
        if self._consumer is not None and self._unsent:
            raise SelectorDisabled(len(self._unsent))
        self._unsent = []
        self._checkpoint()

    def crash(self) -> None:
        """Revert to the last checkpoint, like a restarted operator; the source must resend."""
        self._resume({})
        self._unsent, self._enabled = [], True

    def snapshot(self) -> OperatorSnapshot[R]:
        """Return the state beyond the checkpoint in the store."""
        return OperatorSnapshot(self._draft.changes(), tuple(self._unsent), self._enabled)

    def restore(self, snapshot: OperatorSnapshot[R]) -> None:
        """Restore a snapshot, over the same store."""
        self._resume(snapshot.changes)
        self._unsent, self._enabled = list(snapshot.unsent), snapshot.enabled

    def _apply(self, records: Sequence[Record | Bound]) -> CallReport:
        report = CallReport()
        for record in records:
            if self._lanes.is_replay(record):
                report.replayed += 1
                continue
            if isinstance(record, Record) and not self._insert(record):
                self._refuse(record, report)
            self._lanes.move(record)
        self._lanes.save()
        return report

    def _insert(self, record: Record) -> bool:
        arrival = LaneRecord(record, self._lanes.by_name[record.lane].progress)
        return self._operator.insert(arrival, self._ports[record.lane])

    def _refuse(self, record: Record, report: CallReport) -> None:
        policy = self._flow.late.policy
        if policy == "drop":
            report.dropped += 1
        else:
            late = policy == "dead_letter"
            reason: Reason = "late" if late else "out_of_retention"
            report.dead.append(Refusal(record.lane, record.offset, reason))

    def _evaluate(self, wall: int) -> None:
        self._operator.tick(wall)
        if self._consumer is not None:
            self._send()

    def _send(self) -> None:
        assert self._consumer is not None  # noqa: S101 - without one, input is never disabled
        while self._unsent:
            if not self._consumer(self._unsent[0]):
                self._enabled = False
                return
            del self._unsent[0]
        self._enabled = True
        self._checkpoint()

    def _checkpoint(self) -> None:
        self._operator.purge()
        self._draft.commit()

    def _resume(self, changes: dict[str, bytes | None]) -> None:
        self._draft.resume(changes)
        self._lanes.load()
        self._operator = self._made()

    def _made(self) -> Op:
        return self._make(self._draft, self._take, self._lanes.progress)

    def _take(self, row: R) -> None:
        self._unsent.append(row)


class Draft:
    """A state store with uncommitted changes.

    Args:
        store: holds the last checkpoint.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._changes: dict[str, bytes | None] = {}

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        return self._changes[key] if key in self._changes else self._store.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self._changes[key] = value

    def delete(self, key: str) -> None:
        """Delete a key; a missing key is ignored."""
        self._changes[key] = None

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their current values."""
        changed = {k: v for k, v in self._changes.items() if k.startswith(prefix)}
        if not changed:
            return self._store.scan(prefix)
        found = {k: v for k, v in self._store.scan(prefix) if k not in changed}
        found |= {k: v for k, v in changed.items() if v is not None}
        return iter(sorted(found.items()))

    def commit(self) -> None:
        """Persist the changes."""
        for key, value in self._changes.items():
            if value is None:
                self._store.delete(key)
            else:
                self._store.put(key, value)
        self._changes = {}

    def changes(self) -> dict[str, bytes | None]:
        """Return a copy of the changes; None: deleted."""
        return dict(self._changes)

    def resume(self, changes: Mapping[str, bytes | None]) -> None:
        """Restore changes from `changes`."""
        self._changes = dict(changes)
