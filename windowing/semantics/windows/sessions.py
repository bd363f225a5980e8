"""Sessions of a pipeline, by definition: windows that the records of a key determine.

    session = a chain of records of one key, each less than the gap from the one before
    extent  = [ first, last + gap )

Over event time a record is late iff its lane's progress had passed it; it is taken iff progress had
not reached its time + gap + retention, and joins at the next late epoch. Over rows (of one lane) a
record's value is its number, and nothing is late: rows of other keys separate sessions.

Source: SAMZA-552, "Session window: dynamic window"; lateness, merging and tombstones are ours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from windowing.model.flow import StreamFlow
from windowing.model.rows import Key
from windowing.model.rules import in_log_order
from windowing.semantics.aggregates import refused_by
from windowing.semantics.lanes import Progress
from windowing.semantics.session_course import Entry, SessionRow, course, sessions_of
from windowing.semantics.units import (
    Item,
    Lateness,
    Unit,
    WindowRevision,
    epoch,
    group_of,
    in_one_lane,
    part_of,
)
from windowing.semantics.windows.definition import WindowDefinition


def _shown(query: StreamFlow, group: Key, member: Item, sent: SessionRow[Item]) -> WindowRevision:
    return WindowRevision(
        wid=sent.start,
        start=sent.start,
        end=sent.end,
        part=part_of(query.window, member),
        group=group,
        revision=sent.revision,
        release=sent.instant,
        holds=tuple(sorted(sent.holds, key=lambda item: item.canonical)),
        absorbed_by=sent.absorbed_by,
        turn=sent.order[1],
    )


@dataclass(frozen=True)
class SessionDefinition(WindowDefinition):
    """Sessions."""

    query: StreamFlow

    def courses(self, unit: Unit) -> list[list[WindowRevision]]:
        """Return the rows of each key and session start, in order.

        Raises:
            ArrivalOrderError: rows are counted, and two lanes carry the unit.
        """
        by_rows = in_log_order(self.query.window)
        items = in_one_lane(unit) if by_rows else unit.items
        entries: dict[Key, list[Entry[Item]]] = defaultdict(list)
        for number, item in enumerate(items):
            at = number if by_rows else item.value
            if self.takes(item) and refused_by(self.query.aggregates, item.fields) is None:
                entry = Entry(at, (at, *item.place), self._release(item), item)
                entries[group_of(self.query, item)].append(entry)
        progress = unit.final
        if by_rows and progress < math.inf:
            progress = len(items)
        shown: dict[tuple[Key, int], list[WindowRevision]] = defaultdict(list)
        for group, own in entries.items():
            for sent in course(own, self._gap(own[0].item)):
                if sent.instant <= progress:
                    shown[group, sent.start].append(_shown(self.query, group, own[0].item, sent))
        return list(shown.values())

    def takes(self, item: Item) -> bool:
        """Return whether a record is in some session, now or at a later epoch."""
        if self.lateness(item) is None:
            return True
        if self.query.late.every_us is None:
            return False
        retention = self.query.retention_us
        return retention is None or item.progress < item.value + self._gap(item) + retention

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed the record, even if its session is open."""
        late = not in_log_order(self.query.window) and item.progress > item.value
        return Lateness(whole=True) if late else None

    def unfinished(self, items: Sequence[Item], progress: Progress) -> list[Item]:
        """Return the records of one key's sessions that later records or epochs may still change.

        Args:
            items: the key's records.
            progress: of the unit, after the log so far.
        """
        taken = [Entry(one.value, one.canonical, None, one) for one in items if self.takes(one)]
        return [
            item
            for (_, end), held in sessions_of(taken, self._gap(items[0])).items()
            if not self.is_over(end, self._gap(items[0]), progress)
            for item in held
        ]

    def is_over(self, end: int, gap: int, progress: Progress) -> bool:
        """Return whether no record can join a session any more, and all of its rows were sent.

        Args:
            end: of the session, which is a gap after its last record.
            gap: of its key.
            progress: of the unit, after the log so far.
        """
        if in_log_order(self.query.window):
            return progress == math.inf
        every_us, retention = self.query.late.every_us, self.query.retention_us
        if every_us is None:
            return progress >= end
        # A record that ends where the session does is taken until then, and shown an epoch later.
        return retention is not None and progress >= end + gap + retention + every_us

    def gap_of(self, key: Key) -> int:
        """Return the gap of a row's key."""
        window = self.query.window
        assert window.range_ is not None  # noqa: S101 - every session has one
        # Without GROUP BY no key has its own gap.
        own = [gap for named, gap in window.gaps if (named,) == key[:1]]
        return own[0] if own else window.range_

    def _gap(self, item: Item) -> int:
        return self.gap_of(tuple(item.fields[name] for name in self.query.key[:1]))

    def _release(self, item: Item) -> int | None:
        if self.lateness(item) is None or self.query.late.every_us is None:
            return None
        return epoch(item.progress, item.value, self.query.late.every_us)
