"""When a wall-clock policy is due: at the first call in each period.

The caller passes the clock; none is read here.
"""

from __future__ import annotations

import msgspec

from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods

_NAME = "ticks"


class Ticks:
    """The last seen period of every policy.

    Args:
        store: holds them.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def due(self, policy: str, wall: int, periods: Periods) -> bool:
        """Return whether a policy is due now; the first call only records the period.

        Args:
            policy: its name.
            wall: the caller's clock.
            periods: those of the policy.
        """
        if periods.every_us == 0:
            return True
        data = self._store.get(_NAME)
        cells = {} if data is None else msgspec.msgpack.decode(data, type=dict[str, int])
        cell = (wall - periods.origin_us) // periods.every_us
        known = cells.get(policy)
        if known is not None and cell <= known:
            return False
        cells[policy] = cell
        self._store.put(_NAME, msgspec.msgpack.encode(cells))
        return known is not None
