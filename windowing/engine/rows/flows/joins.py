"""Joins: pairs of two streams, each pair once, as a function of the log.

A pair matches if its keys are equal and the earlier of the two lies in its own side's window, seen
from the later one. Each record is delivered at an instant; a pair is sent when the later of the two
is delivered. `alone` adds the rows of outer joins for records without a partner.

Source: SAMZA-552, "Join operator"; joining pairs instead of aligned windows is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.joined import (
    AloneIndex,
    DueRow,
    JoinRecord,
    chains,
    condition_of,
    connected,
    layout_of,
)
from windowing.engine.rows.flows.operator import FlowOperator, LaneRecord
from windowing.engine.rows.flows.stores import MessageStore, Ticks
from windowing.engine.rows.flows.windows import release_of
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Deliveries, JoinFlow, KeyOrder
from windowing.model.join import Side
from windowing.model.record import Pair, Progress, Record

_PLAIN = KeyOrder()
_OTHER: dict[Side, Side] = {"left": "right", "right": "left"}
SIDES: tuple[Side, Side] = ("left", "right")
"""The sides, by port number."""


class JoinOperator(FlowOperator[Pair]):
    """The join of two streams, the left one on port 0, the right one on port 1.

    Args:
        by_clock: when each side's records are joined, if by the clock instead of progress.
        key_order: decides the layout of message keys.
    """

    def __init__(
        self,
        flow: JoinFlow,
        store: StateStore,
        send: Callable[[Pair], object],
        progress: Progress,
        *,
        by_clock: Mapping[Side, Deliveries] | None = None,
        key_order: KeyOrder = _PLAIN,
    ) -> None:
        super().__init__(store, send, progress)
        self._flow, self._by_clock, self._ticks = flow, by_clock, Ticks(store)
        self._condition = condition_of(flow)
        self.layout = layout_of(flow, key_order)
        self.messages: dict[Side, MessageStore[JoinRecord]] = {
            side: MessageStore(store, self.layout, f"message/{side}/", JoinRecord) for side in SIDES
        }
        self._alone = AloneIndex(store)

    def insert(self, row: LaneRecord, port: int = 0) -> bool:
        """Store a record until it is delivered; False: it is too late."""
        (record, before), side = row, SIDES[port]
        if self._flow.axis == "rows":
            rank = self._rows(side)
            self._state.put(f"rows/{side}", msgspec.msgpack.encode(rank + 1))
            return self._keep(side, JoinRecord(record, rank, rank + 1, False))
        if record.ts >= before:
            return self._keep(side, JoinRecord(record, record.ts, record.ts + 1, False))
        every, retention = self._flow.late.every_us, self._flow.retention_us
        if every is None or (retention is not None and record.ts < before - retention):
            return False
        release = release_of(before, every)
        return self._keep(side, JoinRecord(record, record.ts, release, True))

    def _due(self) -> list[Pair]:
        if self._by_clock is not None:
            return []
        at = self._reached()
        if self._flow.session_gap is not None:
            rows = list(self._in_sessions(at, self._flow.session_gap))
            return [due.row for due in sorted(rows, key=lambda due: due.order)]
        rows = []
        for side in SIDES:
            for joined in self._undelivered(side):
                if joined.instant <= at:
                    self._deliver(side, joined)
                    for other in self._partners(side, joined):
                        rows += self._paired(side, joined, other)
                    self._put(side, joined)
        for side, due, name in self._alone.pop(at):
            joined = self.messages[side].get(name)
            # Ignore a pair at a later instant than this.
            if joined.paired is None or joined.paired > due:
                rows += self._singled(side, joined, due)
                joined.alone = joined.paired is None
                self._put(side, joined)
        return [due.row for due in sorted(rows, key=lambda due: due.order)]

    def _in_sessions(self, at: Progress, gap: int) -> Iterator[DueRow]:
        """Yield the pairs that newly delivered records connect, instant by instant."""
        waiting = [(side, one) for side in SIDES for one in self._undelivered(side)]
        due = [(side, one) for side, one in waiting if one.instant <= at]
        for instant in sorted({one.instant for _, one in due}):
            joining: dict[str, list[JoinRecord]] = {}
            now = [(side, one) for side, one in due if one.instant == instant]
            for _, one in now:
                if one.record.key is not None:
                    joining.setdefault(one.record.key, []).append(one)
            for key, fresh in joining.items():
                delivered = self._delivered_of(key)
                left = {id(one) for side, one in [*delivered, *now] if side == "left"}
                for pair in connected([one for _, one in delivered], fresh, gap):
                    one, other = pair if id(pair[0]) in left else pair[::-1]
                    if id(one) not in left or id(other) in left:
                        continue
                    if self._fulfils("left", one.record, other.record):
                        yield DueRow(instant, "pair", one, other)
            for side, one in now:
                self._deliver(side, one)

    def _delivered_of(self, key: str) -> list[tuple[Side, JoinRecord]]:
        return [
            (side, one)
            for side in SIDES
            for _, one in self.messages[side].candidates(0, 0, key)
            if one.delivered
        ]

    def _paired(self, side: Side, joined: JoinRecord, other: JoinRecord) -> Iterator[DueRow]:
        left, right = (joined, other) if side == "left" else (other, joined)
        instant = max(left.instant, right.instant)
        for one in (left, right):
            if one.alone:
                one.alone = False
                yield DueRow(instant, "retracts", *((left, None) if one is left else (None, right)))
            one.paired = instant if one.paired is None else min(one.paired, instant)
        self._put(_OTHER[side], other)
        yield DueRow(instant, "pair", left, right)

    def _singled(self, side: Side, joined: JoinRecord, due: Progress) -> Iterator[DueRow]:
        """Yield a record alone, and its retraction if a pair of this call causes one."""
        left, right = (joined, None) if side == "left" else (None, joined)
        yield DueRow(due, "single", left, right)
        if joined.paired is not None:
            yield DueRow(joined.paired, "retracts", left, right)

    def _ticked(self, now_us: int) -> list[Pair]:
        """Deliver the sides that are due by the wall clock: left, then right."""
        if self._by_clock is None:
            return []
        rows = []
        for side in SIDES:
            own = self._by_clock[side]
            due = {
                False: self._ticks.due(f"{side}/ontime", now_us, own.ontime),
                True: self._ticks.due(f"{side}/late", now_us, own.late),
            }
            for joined in self._undelivered(side):
                if due[joined.late]:
                    self._deliver(side, joined)
                    for other in self._partners(side, joined):
                        left, right = (joined, other) if side == "left" else (other, joined)
                        rows.append(Pair(left.record, right.record))
        return rows

    def purge(self) -> None:
        """Forget delivered records that no later record can match."""
        if self._flow.session_gap is not None:
            self._purge_sessions(self._flow.session_gap)
            return
        expected = self._alone.messages()
        for side in SIDES:
            reach = self._flow.reach(side)
            if reach is None:
                continue
            undelivered = list(self._undelivered(_OTHER[side]))
            for name, joined in self.messages[side].all():
                if name in expected or not joined.delivered:
                    continue
                if not self._is_past(side, joined.at, reach):
                    continue
                if not any(self._within(side, joined.at, other.at) for other in undelivered):
                    self.messages[side].delete(name)

    def _purge_sessions(self, gap: int) -> None:
        """Forget sessions, including waiting records, that no later record can reach."""
        retention = self._flow.retention_us
        if retention is None:
            return
        by_key: dict[str | None, list[JoinRecord]] = {}
        side_of: dict[int, Side] = {}
        for side in SIDES:
            for _, one in self.messages[side].all():
                by_key.setdefault(one.record.key, []).append(one)
                side_of[id(one)] = side
        for records in by_key.values():
            for session in chains(records, gap):
                past = session[-1].at + gap + retention <= self._progress
                if past and all(one.delivered for one in session):
                    for one in session:
                        side = side_of[id(one)]
                        self.messages[side].delete(self._name(side, one))

    def entries(self) -> int:
        """The number of stored records."""
        return sum(1 for side in SIDES for _ in self.messages[side].all())

    def held_back(self) -> int:
        """The number of records not delivered yet."""
        return sum(1 for side in SIDES for _ in self._undelivered(side))

    def _is_past(self, side: Side, at: int, reach: int) -> bool:
        if self._flow.axis == "rows":
            # The row of the same number must have arrived, whatever the window.
            return self._rows(_OTHER[side]) > at + max(reach, 0)
        retention = self._flow.retention_us
        return retention is not None and at + reach + retention < self._progress

    def _reached(self) -> Progress:
        if self._flow.axis == "ts" or self._progress == math.inf:
            return self._progress
        return min(map(self._rows, SIDES))

    def _rows(self, side: Side) -> int:
        data = self._state.get(f"rows/{side}")
        return 0 if data is None else msgspec.msgpack.decode(data, type=int)

    def _within(self, side: Side, at: int, other: int) -> bool:
        earlier = side if at < other else _OTHER[side]
        if at == other:
            earlier = "right"
        reach = self._flow.reach(earlier)
        return reach is None or abs(at - other) <= reach

    def _partners(self, side: Side, joined: JoinRecord) -> Iterator[JoinRecord]:
        """Return matching delivered records of the other side, in the order of their positions."""
        key = joined.record.key
        if self._flow.on and key is None:
            return iter(())
        # A record matches back by the other side's window, and ahead by its own.
        back, ahead = self._flow.reach(_OTHER[side]), self._flow.reach(side)
        low = -(2**63) if back is None else joined.at - back
        high = 2**63 - 1 if ahead is None else joined.at + ahead
        by_key = keys.by_key_first(self.layout) and self._flow.on
        messages = self.messages[_OTHER[side]]
        found = (
            messages.candidates(low, high, key)
            if by_key or keys.by_time_first(self.layout)
            else messages.all()
        )
        matching = [
            other
            for _, other in found
            if other.delivered
            and self._within(side, joined.at, other.at)
            and (not self._flow.on or other.record.key == key)
            and self._fulfils(side, joined.record, other.record)
        ]
        return iter(sorted(matching, key=lambda other: other.place))

    def _fulfils(self, side: Side, record: Record, other: Record) -> bool:
        pair = (record, other) if side == "left" else (other, record)
        return self._condition(*pair)

    def _keep(self, side: Side, joined: JoinRecord) -> bool:
        name = self._put(side, joined)
        self._state.put(_undelivered_name(side, joined), name.encode())
        if self._flow.keeps(side):
            reach = self._flow.reach(side)
            # From then on, any partner that arrives is late.
            due = None if reach is None else max(joined.instant, joined.at + reach + 1)
            self._alone.add(side, due, joined.place, name)
        return True

    def _put(self, side: Side, joined: JoinRecord) -> str:
        name = self._name(side, joined)
        self.messages[side].put(name, joined)
        return name

    def _deliver(self, side: Side, joined: JoinRecord) -> None:
        joined.delivered = True
        self._put(side, joined)
        self._state.delete(_undelivered_name(side, joined))

    def _undelivered(self, side: Side) -> Iterator[JoinRecord]:
        """Return waiting records, in the order of their positions."""
        names = self._state.scan(f"undelivered/{side}/")
        return (self.messages[side].get(name.decode()) for _, name in names)

    def _name(self, side: Side, joined: JoinRecord) -> str:
        record = joined.record
        return self.messages[side].name(
            ts=record.ts, group=record.key, lane=record.lane, offset=record.offset
        )


def _undelivered_name(side: Side, joined: JoinRecord) -> str:
    place = keys.i64(joined.at) + keys.place(joined.record.lane, joined.record.offset)
    return f"undelivered/{side}/{place.hex()}"
