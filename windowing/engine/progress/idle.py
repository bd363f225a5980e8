"""Silent (idle) lanes: excluded from progress for early rows only.

A lane without records holds back all windows, because its next records may belong to any of them.
With an `idle_timeout`, windows that only silent lanes hold open are sent as early rows meanwhile.
Revision 0 still waits, so records of a lane that resumes are not late.

Silence is checked once per batch: a log that is wholly silent starts no batches.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.state import StateStore
from windowing.engine.wids import ENDED

KEY = "idle"


class IdleLanes:
    """The last time each lane had records, by the caller's clock.

    Args:
        timeout_us: how long a lane has no records before it is silent.
    """

    def __init__(self, timeout_us: int, lanes: int) -> None:
        self._timeout_us, self._lanes = timeout_us, lanes

    def silent(
        self, store: StateStore, heard: Collection[int], wall_us: int | None
    ) -> frozenset[int]:
        """Return the lanes that are silent in this batch.

        The silence of a lane without any records begins with the store.

        Args:
            store: holds when each lane last had records.
            heard: the lanes with records in this batch.
            wall_us: the clock; None: unknown, so that no lane is silent.
        """
        if wall_us is None:
            return frozenset()
        data = store.get(KEY)
        before: list[int] = [] if data is None else msgspec.msgpack.decode(data)
        before += [wall_us] * (self._lanes - len(before))
        now = [wall_us if lane in heard else at_us for lane, at_us in enumerate(before)]
        store.put(KEY, msgspec.msgpack.encode(now))
        return frozenset(
            lane for lane, at_us in enumerate(now) if wall_us - at_us >= self._timeout_us
        )


def left_out(lanes: Sequence[LaneProgress], silent: Collection[int]) -> list[LaneProgress]:
    """Return the lanes' progress with silent ones taken as ended; unchanged if all are silent."""
    if len(silent) == len(lanes):
        return list(lanes)
    return [
        LaneProgress(ENDED, lane.furthest_us, lane.newest_us) if number in silent else lane
        for number, lane in enumerate(lanes)
    ]
