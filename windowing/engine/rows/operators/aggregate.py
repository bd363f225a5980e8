"""Aggregate: one tuple per group whenever a window reports, then a punctuation.

Source: Gedik 2014, section 6.1.1; details: `spl.md` 10.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windowing.engine.rows.operators.functions import Custom, Group, function_of
from windowing.engine.rows.operators.operator import (
    PortOutput,
    Tuple,
    WindowOperator,
    open_window,
)
from windowing.engine.rows.operators.percentiles import OrderedWindow
from windowing.engine.rows.operators.summaries import GroupSummaries, summaries_of
from windowing.engine.rows.policies import (
    Clock,
    Event,
    Profile,
    Storage,
    TumblingWindow,
    WindowEvent,
)
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.window import hashable
from windowing.model.operators.models import check_aggregate
from windowing.model.windows.policy import WindowClause

# The library swaps the rules of these two.
_SWAPPED = {"MinCount": "MaxCount", "MaxCount": "MinCount"}


def _library_name(function: str | Custom) -> str | Custom:
    return _SWAPPED.get(function, function) if isinstance(function, str) else function


@dataclass(frozen=True)
class Output:
    """One attribute of the tuples that Aggregate sends.

    Attributes:
        function: its name, such as `Average`, or the user's own.
        arguments: attributes of the input.
    """

    function: str | Custom
    arguments: tuple[str, ...] = ()


class Aggregate(WindowOperator):
    """The operator that aggregates the tuples of a window.

    Args:
        window: when to aggregate, and over which tuples.
        outputs: the functions, by output attribute.
        group_by: attributes that group the tuples of a window.
        partial_windows: also report before the window was first full.
        evicted_partitions: report evicted partitions (tumbling windows only).
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        window: WindowClause,
        outputs: Mapping[str, Output],
        send: Callable[[PortOutput], None],
        *,
        group_by: Sequence[str] = (),
        partial_windows: bool | None = None,
        evicted_partitions: bool | None = None,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        check_aggregate(window, partial_windows, evicted_partitions)
        library = profile is Profile.osstreams
        self._called = {
            name: (_library_name(output.function) if library else output.function, output.arguments)
            for name, output in outputs.items()
        }
        self._functions = {name: function_of(*called) for name, called in self._called.items()}
        self._group_by = tuple(group_by)
        self._partial = bool(partial_windows)
        self._count_all_partitions = library and window.kind == "sliding"
        # In order, so that equal states are equal bytes.
        self._full: dict[Key, None] = {}
        # Summaries take the place of the tuples where all functions have one.
        tumbling = window.kind == "tumbling"
        self._summaries = summaries_of(self._called) if tumbling else None
        summarizer = None if self._summaries is None else self._summarize
        super().__init__(open_window(window, profile, clock, storage, summarizer), send)
        self._ordered: OrderedWindow | None = None
        if isinstance(self._window, TumblingWindow):
            self._window.on(Event.before_flush, self._report)
            self._window.on(Event.empty_window_punct, lambda _: self._emit_punctuation())
            if evicted_partitions:
                self._window.on(Event.partition_eviction, self._report_victims)
        else:
            self._window.on(Event.initial_full, lambda event: self._full.setdefault(event.key))
            self._window.on(Event.trigger, self._report_full)
            self._window.on(Event.partition_eviction, self._forget_victims)
            if not group_by and OrderedWindow.computes(self._called):
                self._ordered = OrderedWindow(self._window, self._called)

    # --- reporting ----------------------------------------------------------------------------

    def _report_full(self, event: WindowEvent) -> None:
        if self._partial or event.key in self._full:
            self._report(event)

    def _report(self, event: WindowEvent) -> None:
        self._send_groups(event.key)

    def _report_victims(self, event: WindowEvent) -> None:
        for key in event.victims:
            self._send_groups(key)

    def _forget_victims(self, event: WindowEvent) -> None:
        for key in event.victims:
            self._full.pop(key, None)
        if self._ordered is not None:
            self._ordered.drop(event.victims)

    def _summarize(self, _: Key) -> GroupSummaries:
        return GroupSummaries(self._summaries or (), self._group_by)

    def _send_groups(self, key: Key) -> None:
        for row in self._results(key):
            self._emit(row)
        self._emit_punctuation()

    def _results(self, key: Key) -> Iterator[Tuple]:
        if self._summaries is not None and isinstance(self._window, TumblingWindow):
            summary = self._window.summary(key)
            return summary.results() if isinstance(summary, GroupSummaries) else iter(())
        total = len(self._window) if self._count_all_partitions else self._window.size(key)
        if self._ordered is not None:
            return self._ordered.results(key, total)
        return self._computed(key, total)

    def _computed(self, key: Key, total: int) -> Iterator[Tuple]:
        rows = self._window.rows(key) or []
        groups: dict[tuple[Any, ...], list[Tuple]] = {}
        for row in rows:
            groups.setdefault(tuple(hashable(row[name]) for name in self._group_by), []).append(row)
        sizes = [len(members) for members in groups.values()]
        for members in groups.values():
            group = Group(members, sizes, total)
            yield {name: f(group, self._called[name][1]) for name, f in self._functions.items()}

    # --- state --------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the window's state, and which of its partitions were ever full."""
        return {**super().snapshot(), "full": [*self._full]}

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        super().restore(snapshot, timers=timers)
        self._full = {hashable(key): None for key in snapshot["full"]}
        if self._ordered is not None:
            self._ordered.rebuild()
