"""The lanes of an operator: the next offset and the progress of each.

A record is judged by its own lane's progress and only then advances it, as in
`windowing.engine.lane`; in addition, offsets are dense here: a replay is ignored, a gap is an
error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from windowing.engine.storage.formats import Format
from windowing.engine.storage.state import StateStore
from windowing.model.flow import LaneStart
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Bound, Progress, Record
from windowing.runtime.standalone.errors import DenseOffsetGap, RecordAfterEnd, UnknownLane

_NAME = "lanes"


class LaneState(msgspec.Struct, array_like=True):
    """One lane.

    Attributes:
        progress: the largest bound so far.
    """

    next: int
    progress: Progress = -math.inf


STATE = Format("an operator's state", 2, dict[str, LaneState])
"""The stored format of the lanes and of the whole operator."""


class Lanes:
    """The state of all lanes.

    Args:
        starts: every lane that is read.
        disorder: what data records promise.
    """

    def __init__(
        self, starts: Sequence[LaneStart], disorder: Slack | Punctuation, store: StateStore
    ) -> None:
        self._starts, self._disorder, self._store = starts, disorder, store
        self.by_name: dict[str, LaneState] = {}
        self.load()

    def load(self) -> None:
        """Load from the store.

        Raises:
            CheckpointMismatch: this version does not know the format.
        """
        data = self._store.get(_NAME)
        if data is None:
            self.by_name = {start.name: LaneState(start.start_offset) for start in self._starts}
        else:
            self.by_name = STATE.decode(data)

    def save(self) -> None:
        """Save to the store."""
        self._store.put(_NAME, STATE.encode(self.by_name))

    @property
    def progress(self) -> Progress:
        """The progress of the stream: that of its slowest lane."""
        return min(lane.progress for lane in self.by_name.values())

    def check(self, records: Iterable[Record | Bound]) -> None:
        """Check that these records continue their lanes, without changing anything.

        Raises:
            UnknownLane: a lane that the operator does not read.
            DenseOffsetGap: an offset beyond the next one of its lane.
            RecordAfterEnd: a data record of a lane that has ended.
        """
        nexts = {name: lane.next for name, lane in self.by_name.items()}
        ended = {name for name, lane in self.by_name.items() if lane.progress == math.inf}
        for record in records:
            if record.lane not in nexts:
                raise UnknownLane(record.lane, sorted(nexts))
            expected = nexts[record.lane]
            if record.offset > expected:
                raise DenseOffsetGap(record.lane, expected, record.offset)
            if record.offset < expected:
                continue
            nexts[record.lane] += 1
            if isinstance(record, Record) and record.lane in ended:
                raise RecordAfterEnd(record.lane, record.offset)
            if isinstance(record, Bound) and record.bound == math.inf:
                ended.add(record.lane)

    def is_replay(self, record: Record | Bound) -> bool:
        """Return whether its lane has already passed this record."""
        return record.offset < self.by_name[record.lane].next

    def move(self, record: Record | Bound) -> None:
        """Pass a record and apply its promise."""
        lane = self.by_name[record.lane]
        lane.next += 1
        if isinstance(record, Bound):
            lane.progress = max(lane.progress, record.bound)
        elif isinstance(self._disorder, Slack):
            lane.progress = max(lane.progress, record.ts - self._disorder.slack_us)
