"""What is found in a run's tables: sums that can be added up, so that only new files are read."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from jobs.overview.buckets import Buckets

EXAMPLES_MAX: Final = 5
"""How many examples are kept of each reason."""

LATE: Final = frozenset({"late", "out_of_retention"})
"""The reasons of dead letters that are good records, but late."""


class Results(msgspec.Struct):
    """What is in the table of a query, or of several.

    Attributes:
        rows: number of rows, provisional ones and retractions included.
        revisions: those of them that revise an earlier row.
        history: both, by time.
        queries: both by query; None: it was counted when a table had one.
    """

    rows: int = 0
    revisions: int = 0
    history: Buckets = msgspec.field(default_factory=Buckets)
    queries: dict[str, tuple[int, int]] | None = None

    def of(self, query: str) -> tuple[int, int]:
        """Return the number of rows and revisions of a query."""
        if self.queries is None:
            return self.rows, self.revisions
        return self.queries.get(query, (0, 0))

    def add(self, other: Results) -> None:
        """Add what is in other files of it."""
        self.rows += other.rows
        self.revisions += other.revisions
        self.history.merge(other.history)
        if self.queries is not None:
            for query in other.queries or ():
                ours, more = self.of(query), other.of(query)
                self.queries[query] = ours[0] + more[0], ours[1] + more[1]


class LaneCount(msgspec.Struct):
    """What the table of metrics says of a lane.

    Attributes:
        dropped: late records that were dropped, over all queries.
        fates: the number of each fate that windows have no part in, by its name.
        batch: its last batch.
        heard: the last batch that has read something of it; -1: none.
        heard_us: when that was written; None: unknown.
        progress_us: its progress after the last batch; None: none yet.
    """

    read: int
    dropped: int
    batch: int
    heard: int
    heard_us: int | None
    progress_us: int | None
    ended: bool
    fates: dict[str, int] = {}

    def add(self, other: LaneCount) -> None:
        """Add what other files say of it."""
        self.read += other.read
        self.dropped += other.dropped
        for name, number in other.fates.items():
            self.fates[name] = self.fates.get(name, 0) + number
        if other.heard > self.heard:
            self.heard, self.heard_us = other.heard, other.heard_us
        if other.batch > self.batch:
            self.batch, self.progress_us = other.batch, other.progress_us
            self.ended = other.ended


class LaneCounts(msgspec.Struct):
    """What is in the table of metrics.

    Attributes:
        history: records read, late records dropped, and batches, by time.
        last: the newest batch; -1: there is none.
    """

    lanes: dict[str, LaneCount] = {}
    history: Buckets = msgspec.field(default_factory=Buckets)
    last: int = -1

    def add(self, other: LaneCounts) -> None:
        """Add what is in other files of it."""
        for name, count in other.lanes.items():
            if name in self.lanes:
                self.lanes[name].add(count)
            else:
                self.lanes[name] = count
        self.history.merge(other.history)
        self.last = max(self.last, other.last)


class Letter(msgspec.Struct):
    """A dead letter that is kept as an example.

    Attributes:
        lane, offset: its position.
        at_us: when it was written; None: unknown.
    """

    batch: int
    lane: str
    offset: int
    at_us: int | None
    value: str | None


class Reason(msgspec.Struct):
    """All dead letters with a reason.

    Attributes:
        examples: the newest of them.
    """

    count: int
    examples: list[Letter]

    def add(self, other: Reason) -> None:
        """Add those in other files."""
        self.count += other.count
        both = [*self.examples, *other.examples]
        both.sort(key=lambda one: (-one.batch, one.lane, -one.offset))
        self.examples = both[:EXAMPLES_MAX]


class DeadLetterTotals(msgspec.Struct):
    """What is in the table of dead letters.

    Attributes:
        lanes: their number by lane.
        late: the number of those that were late, by lane.
        history: their number, and that of the late ones, by time.
    """

    reasons: dict[str, Reason] = {}
    lanes: dict[str, int] = {}
    late: dict[str, int] = {}
    history: Buckets = msgspec.field(default_factory=Buckets)

    def add(self, other: DeadLetterTotals) -> None:
        """Add what is in other files of it."""
        for name, reason in other.reasons.items():
            if name in self.reasons:
                self.reasons[name].add(reason)
            else:
                self.reasons[name] = reason
        for own, others in ((self.lanes, other.lanes), (self.late, other.late)):
            for lane, count in others.items():
                own[lane] = own.get(lane, 0) + count
        self.history.merge(other.history)


Totals = TypeVar("Totals", Results, LaneCounts, DeadLetterTotals)
"""What is found in a table, by what the table has."""
