"""The values of a sliding window in order, for Percentile: kept, not sorted at every report."""

from __future__ import annotations

from bisect import bisect_left, insort_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from windowing.engine.rows.operators.functions import percentile_of
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.rows.operators.summaries import SUMMARIES, FunctionCall, Sizes
from windowing.engine.rows.policies import Event, SlidingWindow, WindowEvent
from windowing.engine.rows.policies.events import Key
from windowing.engine.tuning import tuning

_PERCENTILE: Final = "Percentile"
_COUNTS: Final = ("Count", "CountAll", "CountGroups", "CountByGroup")


class OrderedColumn:
    """The values of one attribute of a partition, in ascending order when asked for.

    Changes wait until then; if there are many, or values without an order (NaN), all are sorted.
    """

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._added: list[Any] = []
        self._removed: list[Any] = []
        self._unordered = 0
        self._stale = True
        self._values_per_change = tuning().ordered_values_per_change

    def add(self, value: Any) -> None:
        """Process a value that enters."""
        self._unordered += value != value  # noqa: PLR0124 - true of NaN only
        self._change(self._added, value)

    def remove(self, value: Any) -> None:
        """Process a value that leaves."""
        self._unordered -= value != value  # noqa: PLR0124
        self._change(self._removed, value)

    def _change(self, changes: list[Any], value: Any) -> None:
        if self._stale:
            return
        changes.append(value)
        waiting = len(self._added) + len(self._removed)
        self._stale = waiting > max(len(self._values) // self._values_per_change, 2)

    def ordered(self, all_values: Callable[[], list[Any]]) -> list[Any]:
        """Return the values in order.

        Args:
            all_values: returns them in any order, if they have to be sorted.
        """
        if self._stale or self._unordered:
            self._values = sorted(all_values())
        else:
            for value in self._added:
                insort_right(self._values, value)
            for value in self._removed:
                del self._values[bisect_left(self._values, value)]
        self._added.clear()
        self._removed.clear()
        self._stale = bool(self._unordered)
        return self._values


class OrderedWindow:
    """The ordered columns of a sliding window, kept by its events.

    Args:
        called: the functions to compute and their arguments, by output.
    """

    def __init__(self, window: SlidingWindow, called: Mapping[str, FunctionCall]) -> None:
        self._window, self._called = window, called
        names = {arguments[0] for name, arguments in called.values() if name == _PERCENTILE}
        self._columns: defaultdict[Key, dict[str, OrderedColumn]] = defaultdict(
            lambda: {name: OrderedColumn() for name in names}
        )
        window.on(Event.after_insert, self._add)
        window.on(Event.after_evict, self._remove)

    @staticmethod
    def computes(called: Mapping[str, FunctionCall]) -> bool:
        """Return whether all functions need no more than the ordered values."""
        names = {name for name, _ in called.values()}
        return _PERCENTILE in names and names <= {_PERCENTILE, *_COUNTS}

    def results(self, key: Key, all_rows: int) -> Iterator[Tuple]:
        """Yield the output of a partition, if it has tuples.

        Args:
            all_rows: how many tuples `CountAll` counts.
        """
        size = self._window.size(key)
        if size:
            sizes = Sizes(size, [size], all_rows)
            yield {
                output: percentile_of(self._ordered(key, arguments[0]), arguments[1])
                if name == _PERCENTILE
                else SUMMARIES[name].value(None, sizes)
                for output, (name, arguments) in self._called.items()
            }

    def drop(self, keys: Iterable[Key]) -> None:
        """Delete the columns of partitions."""
        for key in keys:
            self._columns.pop(key, None)

    def rebuild(self) -> None:
        """Start again from the tuples of the window."""
        self._columns.clear()
        for key, rows in self._window:
            for row in rows:
                self._add(WindowEvent(Event.after_insert, key, row))

    def _ordered(self, key: Key, name: str) -> list[Any]:
        return self._columns[key][name].ordered(
            lambda: [row[name] for row in self._window.rows(key) or ()]
        )

    def _add(self, event: WindowEvent) -> None:
        for name, column in self._columns[event.key].items():
            column.add(event.row[name])

    def _remove(self, event: WindowEvent) -> None:
        for name, column in self._columns[event.key].items():
            column.remove(event.row[name])
