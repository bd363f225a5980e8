"""Dedup: a tuple is sent only if no earlier tuple of its window equals it.

Source: the policies and events of Gedik 2014; the operator is ours, after SPL's DeDuplicate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windowing.engine.rows.operators.operator import PortOutput, Tuple, WindowOperator, open_window
from windowing.engine.rows.policies import Clock, Event, Profile, Storage, WindowEvent
from windowing.engine.rows.policies.index import Index, values_of
from windowing.model.operators.models import check_dedup
from windowing.model.windows.policy import WindowClause


class Dedup(WindowOperator):
    """The operator that sends each tuple once.

    All tuples enter the window, sent or not, so that a duplicate renews the memory of the first.

    Args:
        window: sliding, with the trigger count(1): the tuples to compare with.
        by: the attributes that are equal in duplicates.
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        window: WindowClause,
        by: Sequence[str],
        send: Callable[[PortOutput], None],
        *,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        check_dedup(window, by)
        super().__init__(open_window(window, profile, clock, storage), send)
        self._by = tuple(by)
        self._newest: Tuple | None = None
        self._index = Index(self._window, by)
        self._window.on(Event.trigger, self._send_first)

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple."""
        self._newest = row
        self._window.insert(row)
        return True

    def _send_first(self, event: WindowEvent) -> None:
        newest = self._newest
        if newest is not None:
            same = self._index.find(event.key, values_of(newest, self._by))
            if len(same) <= 1:
                self._emit(newest)

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot; all else follows from the window."""
        super().restore(snapshot, timers=timers)
        self._index.rebuild()
