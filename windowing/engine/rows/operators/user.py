"""A user's operator: handlers of the events of a window, which return the tuples to send."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from windowing.engine.rows.operators.operator import (
    PortOutput,
    Tuple,
    WindowOperator,
    open_window,
)
from windowing.engine.rows.policies import (
    Clock,
    Event,
    Profile,
    Storage,
    WindowEvent,
)
from windowing.engine.rows.policies.events import Key
from windowing.model.windows.policy import WindowClause

Handle = Callable[[str, Key, Sequence[Tuple], Tuple | None], Iterable[Tuple]]
"""From the name of a handler, the partition, its tuples, and the tuple of the event, if it has
one, to the tuples to send."""

_EVENTS = {
    Event.after_insert: "on_insert",
    Event.before_evict: "on_evict",
    Event.trigger: "on_trigger",
    Event.before_flush: "on_flush",
    Event.initial_full: "on_full",
}


class HandlerOperator(WindowOperator):
    """An operator that is a set of handlers, without state; empty windows call none.

    Args:
        names: the handlers that there are, as in `windowing.model.user.user_operator`.
        storage: of the tuples.
    """

    def __init__(
        self,
        window: WindowClause,
        names: Iterable[str],
        handle: Handle,
        send: Callable[[PortOutput], None],
        *,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        super().__init__(open_window(window, profile, clock, storage), send)
        self._handle = handle
        names = frozenset(names)
        for kind, name in _EVENTS.items():
            if name in names:
                self._window.on(kind, self._handler(name))
        if "on_partition_eviction" in names:
            self._window.on(Event.partition_eviction, self._handle_victims)

    def _handler(self, name: str) -> Callable[[WindowEvent], None]:
        return lambda event: self._call(name, event.key, event.row)

    def _handle_victims(self, event: WindowEvent) -> None:
        for key in event.victims:
            self._call("on_partition_eviction", key, None)

    def _call(self, name: str, key: Key, row: Tuple | None) -> None:
        rows = self._window.rows(key)
        if rows:
            for sent in self._handle(name, key, rows, row):
                self._emit(sent)
