"""Silent lanes: which of them progress may leave out for provisional rows, and for nothing else.

A lane that says nothing holds all windows back, as it must: nobody knows what it will say. With an
`idle_timeout` the windows that silent lanes alone hold open are sent as early rows meanwhile.
Revision 0 still waits, so a lane that speaks again is late for nothing.

It is looked at once per batch: a log that is silent as a whole starts none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from windowing.engine.progress.reached import Reached
from windowing.engine.state import StateStore
from windowing.engine.wids import ENDED

_KEY = "idle"


class IdleLanes:
    """Knows when each lane was last heard, by the caller's clock.

    Args:
        timeout_us: how long a lane may say nothing before it is silent.
        lanes: how many lanes there are.
    """

    def __init__(self, timeout_us: int, lanes: int) -> None:
        self._timeout_us, self._lanes = timeout_us, lanes

    def silent(
        self, store: StateStore, heard: Collection[int], wall_us: int | None
    ) -> frozenset[int]:
        """The lanes that are silent at this batch.

        A lane that was never heard is silent for as long as this store knows of.

        Args:
            store: keeps when each lane was heard.
            heard: the lanes that said something in this batch.
            wall_us: the clock; None: nobody knows, and no lane is silent.
        """
        if wall_us is None:
            return frozenset()
        data = store.get(_KEY)
        before: list[int] = [] if data is None else msgspec.msgpack.decode(data)
        before += [wall_us] * (self._lanes - len(before))
        now = [wall_us if lane in heard else at_us for lane, at_us in enumerate(before)]
        store.put(_KEY, msgspec.msgpack.encode(now))
        return frozenset(
            lane for lane, at_us in enumerate(now) if wall_us - at_us >= self._timeout_us
        )


def left_out(lanes: Sequence[Reached], silent: Collection[int]) -> list[Reached]:
    """How far lanes are if silent ones are taken to have ended; all of them: as they are."""
    if len(silent) == len(lanes):
        return list(lanes)
    return [
        Reached(ENDED, lane.furthest_us, lane.newest_us) if number in silent else lane
        for number, lane in enumerate(lanes)
    ]
