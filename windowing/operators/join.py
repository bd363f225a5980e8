"""`WindowJoin`: pairs of two streams, each pair once, as a function of the log.

A pair matches if its keys are equal and the earlier of the two lies in its own side's window, seen
from the later one. A record is delivered at an instant of its own; a pair is sent when the later of
the two is delivered. `alone` adds what outer joins send of records without a partner.

Source: SAMZA-552, "Join operator"; joining pairs instead of aligned windows is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain

import msgspec

from windowing.engine.state import StateStore
from windowing.model.operator import JoinSpec, Side
from windowing.model.operator_rows import Pair, Progress, Record
from windowing.operators import keys
from windowing.operators.aggregator import ANY, AnyKey
from windowing.operators.alone import AloneIndex
from windowing.operators.joined import DueRow, Joined, layout_of
from windowing.operators.message_store import MessageStore
from windowing.operators.session_join import chains, connected
from windowing.operators.shell import Operator
from windowing.operators.ticks import Ticks
from windowing.operators.windows import release_of

_OTHER: dict[Side, Side] = {"left": "right", "right": "left"}
_SIDES: tuple[Side, Side] = ("left", "right")


class JoinBody:
    """The semantics of a join.

    Args:
        spec: of the join.
        store: where everything is kept.
    """

    def __init__(self, spec: JoinSpec, store: StateStore) -> None:
        self._spec, self._state, self._ticks = spec, store, Ticks(store)
        self._side_of: dict[str, Side] = {
            lane.name: lane.side for lane in spec.lanes if lane.side is not None
        }
        self.layout = layout_of(spec)
        self.messages: dict[Side, MessageStore[Joined]] = {
            side: MessageStore(store, self.layout, f"message/{side}/", Joined) for side in _SIDES
        }
        self._alone = AloneIndex(store)

    def take(self, record: Record, before: Progress) -> bool:
        """Keep a record until it is delivered; False: it comes too late."""
        side = self._side_of[record.lane]
        if self._spec.axis == "rows":
            rank = self._rows(side)
            self._state.put(f"rows/{side}", msgspec.msgpack.encode(rank + 1))
            return self._keep(side, Joined(record, rank, rank + 1, False))
        if record.ts >= before:
            return self._keep(side, Joined(record, record.ts, record.ts + 1, False))
        late, retention = self._spec.late, self._spec.retention.time
        if late.policy != "update" or (retention is not None and record.ts < before - retention):
            return False
        release = release_of(before, max(late.every, 1))
        return self._keep(side, Joined(record, record.ts, release, True))

    def due(self, progress: Progress) -> list[Pair]:
        """The rows whose instant progress has reached, by instant and positions."""
        if self._spec.clock != "progress":
            return []
        at = self._progress(progress)
        if self._spec.session_gap is not None:
            rows = list(self._in_sessions(at, self._spec.session_gap))
            return [due.row for due in sorted(rows, key=lambda due: due.order)]
        rows = []
        for side in _SIDES:
            for joined in self._undelivered(side):
                if joined.instant <= at:
                    self._deliver(side, joined)
                    for other in self._partners(side, joined):
                        rows += self._paired(side, joined, other)
                    self._put(side, joined)
        for side, due, name in self._alone.pop(at):
            joined = self.messages[side].get(name)
            # Of a pair that is later than this the record does not know yet.
            if joined.paired is None or joined.paired > due:
                rows += self._singled(side, joined, due)
                joined.alone = joined.paired is None
                self._put(side, joined)
        return [due.row for due in sorted(rows, key=lambda due: due.order)]

    def _in_sessions(self, at: Progress, gap: int) -> Iterator[DueRow]:
        """The pairs that records delivered until now connect, instant by instant."""
        waiting = [(side, one) for side in _SIDES for one in self._undelivered(side)]
        due = [(side, one) for side, one in waiting if one.instant <= at]
        for instant in sorted({one.instant for _, one in due}):
            joining: dict[str, list[Joined]] = {}
            now = [(side, one) for side, one in due if one.instant == instant]
            for _, one in now:
                if one.record.key is not None:
                    joining.setdefault(one.record.key, []).append(one)
            for key, fresh in joining.items():
                for one, other in connected(self._delivered_of(key), fresh, gap):
                    pair = (one, other) if self._is_left(one) else (other, one)
                    both = pair[0].record, pair[1].record
                    if self._is_left(one) != self._is_left(other) and self._fulfils("left", *both):
                        yield DueRow(instant, "pair", *pair)
            for side, one in now:
                self._deliver(side, one)

    def _delivered_of(self, key: str) -> list[Joined]:
        found = [one for side in _SIDES for _, one in self.messages[side].candidates(0, 0, key)]
        return [one for one in found if one.delivered]

    def _is_left(self, joined: Joined) -> bool:
        return self._side_of[joined.record.lane] == "left"

    def _paired(self, side: Side, joined: Joined, other: Joined) -> Iterator[DueRow]:
        """A pair, and what it takes back of rows in earlier calls."""
        left, right = (joined, other) if side == "left" else (other, joined)
        instant = max(left.instant, right.instant)
        for one in (left, right):
            if one.alone:
                one.alone = False
                yield DueRow(instant, "retracts", *((left, None) if one is left else (None, right)))
            one.paired = instant if one.paired is None else min(one.paired, instant)
        self._put(_OTHER[side], other)
        yield DueRow(instant, "pair", left, right)

    def _singled(self, side: Side, joined: Joined, due: Progress) -> Iterator[DueRow]:
        """A record alone, and what takes that back if a pair of this same call does."""
        left, right = (joined, None) if side == "left" else (None, joined)
        yield DueRow(due, "single", left, right)
        if joined.paired is not None:
            yield DueRow(joined.paired, "retracts", left, right)

    def tick(self, wall: int, progress: Progress) -> list[Pair]:
        """Deliver what the wall clock asks for: the left side, then the right one."""
        if self._spec.clock != "wall":
            return []
        rows = []
        for side in _SIDES:
            own = self._spec.side(side)
            due = {
                False: self._ticks.due(f"{side}/ontime", wall, own.ontime, own.origin),
                True: self._ticks.due(f"{side}/late", wall, own.late, own.origin),
            }
            for joined in self._undelivered(side):
                if due[joined.late]:
                    self._deliver(side, joined)
                    for other in self._partners(side, joined):
                        left, right = (joined, other) if side == "left" else (other, joined)
                        rows.append(Pair(left.record, right.record))
        return rows

    def purge(self, progress: Progress) -> None:
        """Forget delivered records that no record to come can match."""
        if self._spec.session_gap is not None:
            self._purge_sessions(progress, self._spec.session_gap)
            return
        expected = self._alone.messages()
        for side in _SIDES:
            reach = self._spec.reach(side)
            if reach is None:
                continue
            undelivered = list(self._undelivered(_OTHER[side]))
            for name, joined in self.messages[side].all():
                if name in expected or not joined.delivered:
                    continue
                if not self._is_past(side, joined.at, reach, progress):
                    continue
                if not any(self._within(side, joined.at, other.at) for other in undelivered):
                    self.messages[side].delete(name)

    def _purge_sessions(self, progress: Progress, gap: int) -> None:
        """Forget sessions, waiting records and all, that no record to come can reach."""
        retention = self._spec.retention.time
        if retention is None:
            return
        by_key: dict[str | None, list[Joined]] = {}
        for side in _SIDES:
            for _, one in self.messages[side].all():
                by_key.setdefault(one.record.key, []).append(one)
        for records in by_key.values():
            for session in chains(records, gap):
                past = session[-1].at + gap + retention <= progress
                if past and all(one.delivered for one in session):
                    for one in session:
                        side = self._side_of[one.record.lane]
                        self.messages[side].delete(self._name(side, one))

    def entries(self) -> int:
        """How many records are stored."""
        return sum(1 for side in _SIDES for _ in self.messages[side].all())

    def held_back(self) -> int:
        """How many records are not delivered yet."""
        return sum(1 for side in _SIDES for _ in self._undelivered(side))

    def _is_past(self, side: Side, at: int, reach: int, progress: Progress) -> bool:
        if self._spec.axis == "rows":
            # The row of the same number must have come, whatever the window.
            return self._rows(_OTHER[side]) > at + max(reach, 0)
        retention = self._spec.retention.time
        return retention is not None and at + reach + retention < progress

    def _progress(self, progress: Progress) -> Progress:
        if self._spec.axis == "ts" or progress == math.inf:
            return progress
        return min(map(self._rows, _SIDES))

    def _rows(self, side: Side) -> int:
        data = self._state.get(f"rows/{side}")
        return 0 if data is None else msgspec.msgpack.decode(data, type=int)

    def _within(self, side: Side, at: int, other: int) -> bool:
        """Whether a record of a side and one of the other side lie in each other's reach."""
        earlier = side if at < other else _OTHER[side]
        if at == other:
            earlier = "right"
        reach = self._spec.reach(earlier)
        return reach is None or abs(at - other) <= reach

    def _partners(self, side: Side, joined: Joined) -> Iterator[Joined]:
        """Delivered records of the other side that match, in the order of their positions."""
        key = joined.record.key
        if self._spec.equality and key is None:
            return iter(())
        # Ours looks back as far as the other side's window, and ahead as far as its own.
        back, ahead = self._spec.reach(_OTHER[side]), self._spec.reach(side)
        low = -(2**63) if back is None else joined.at - back
        high = 2**63 - 1 if ahead is None else joined.at + ahead
        by_key = keys.by_key_first(self.layout) and self._spec.equality
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
            and (not self._spec.equality or other.record.key == key)
            and self._fulfils(side, joined.record, other.record)
        ]
        return iter(sorted(matching, key=lambda other: other.place))

    def _fulfils(self, side: Side, record: Record, other: Record) -> bool:
        condition = self._spec.condition
        if condition is None:
            return True
        return condition(record, other) if side == "left" else condition(other, record)

    def _keep(self, side: Side, joined: Joined) -> bool:
        name = self._put(side, joined)
        self._state.put(_undelivered_name(side, joined), name.encode())
        if self._spec.keeps(side):
            reach = self._spec.reach(side)
            # From then on, whatever is within reach and comes is late.
            due = None if reach is None else max(joined.instant, joined.at + reach + 1)
            self._alone.add(side, due, joined.place, name)
        return True

    def _put(self, side: Side, joined: Joined) -> str:
        name = self._name(side, joined)
        self.messages[side].put(name, joined)
        return name

    def _deliver(self, side: Side, joined: Joined) -> None:
        joined.delivered = True
        self._put(side, joined)
        self._state.delete(_undelivered_name(side, joined))

    def _undelivered(self, side: Side) -> Iterator[Joined]:
        """Records that wait, in the order of their positions."""
        names = self._state.scan(f"undelivered/{side}/")
        return (self.messages[side].get(name.decode()) for _, name in names)

    def _name(self, side: Side, joined: Joined) -> str:
        record = joined.record
        return self.messages[side].name(
            ts=record.ts, group=record.key, lane=record.lane, offset=record.offset
        )


def _undelivered_name(side: Side, joined: Joined) -> str:
    place = keys.i64(joined.at) + keys.place(joined.record.lane, joined.record.offset)
    return f"undelivered/{side}/{place.hex()}"


class WindowJoin(Operator[Pair, JoinBody]):
    """Joins two streams; with `clock: progress` the sequence of pairs is a function of the log.

    Args:
        spec: what is joined.
        consumer: takes a pair, or refuses it by returning False; None: pairs wait for `get_result`.
        store: holds the checkpoint; by default a new one in memory.
    """

    def __init__(
        self,
        spec: JoinSpec,
        consumer: Callable[[Pair], bool] | None = None,
        store: StateStore | None = None,
    ) -> None:
        self._by_offset = spec.axis == "rows"
        super().__init__(spec, lambda state: JoinBody(spec, state), consumer, store)

    def get_messages(
        self,
        start: Progress = -math.inf,
        end: Progress = math.inf,
        key: str | AnyKey | None = ANY,
        side: Side | None = None,
    ) -> list[Record]:
        """The stored records of a side, or both, with a time – or offset – in [start, end)."""
        sides = _SIDES if side is None else (side,)
        found = chain.from_iterable(self._body.messages[one].all() for one in sides)
        return [
            joined.record
            for _, joined in found
            if start <= (joined.record.offset if self._by_offset else joined.record.ts) < end
            and key in (ANY, joined.record.key)
        ]

    @property
    def message_layout(self) -> keys.Layout:
        """The layout of the message keys that the planner has chosen."""
        return self._body.layout

    @property
    def held_back(self) -> int:
        """How many accepted records are not delivered yet."""
        return self._body.held_back()
