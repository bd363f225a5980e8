"""Tumbling windows: all tuples of a partition leave at once.

Source: Gedik 2014, sections 3.3 and 4.1.6, Table I; order of events: `spl.md` 4.3 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from windowing.engine.rows.policies.clock import Deadlines
from windowing.engine.rows.policies.events import Event, Key, Row
from windowing.engine.rows.policies.partitions import Subwindow
from windowing.engine.rows.policies.window import (
    DEFAULT_KEY,
    DueAction,
    PolicyWindow,
    crosses,
    hashable,
    skip_past,
)
from windowing.model.windows.policy import Count, Delta, Marker, Policy, Profile, Punct, Time


class Summarizer(Protocol):
    """A summary of an open window's tuples, which need not be stored then (4.1.6)."""

    def open(self) -> None:
        """Handle the opening of the window, before its first tuple."""

    def insert(self, row: Row) -> None:
        """Process a tuple."""

    def close(self) -> None:
        """Handle the flush of the window."""

    def destroy(self) -> None:
        """Handle the end of its use; without a prior `close`, its partition was evicted."""

    def state(self) -> Any:
        """Return its state, as plain values."""

    def restore(self, state: Any) -> None:
        """Restore a state."""


class TumblingWindow(PolicyWindow):
    """A window that fills, is flushed, and starts again.

    Args:
        eviction: when it is flushed.
        summarizer: creates the summary that replaces an open window's tuples.

    Raises:
        PolicyError: the configuration is invalid.
    """

    def __init__(
        self,
        eviction: Policy,
        *,
        summarizer: Callable[[Key], Summarizer] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._eviction = eviction
        self._size = eviction.size if isinstance(eviction, Count) else None
        self._delta = eviction if isinstance(eviction, Delta) else None
        self._summarizer = summarizer
        self._per_key = self.partitioned and self._profile is Profile.paper
        # Flushes by the clock: one for the window (key None), or in the paper one per partition.
        self._clocks = Deadlines()
        # Summarizers from before a restore. The library never drops them: a partition that returns
        # later opens a new one and continues with the old one.
        self._left: dict[Key, Summarizer] = {}
        if isinstance(eviction, Time):
            self._has_timers()
            if not self._per_key:
                self._clocks.put(None, self._clock.now_us + eviction.period_us)

    def insert(self, row: Row) -> None:
        """Process a tuple; a count of zero ignores it."""
        size, delta = self._size, self._delta
        if size == 0:
            return
        key, part = self._admit(row)
        if delta is not None and self._crosses(delta, part, row):
            self._flush(key)
        stays = self._take(key, part, row)
        if size is not None and stays and (part.summarized or len(part.entries)) == size:
            self._flush(key)
            self._partitions.remove(key)

    def take_marker(self, marker: Marker) -> None:
        """Process a punctuation, which only matters if punctuations are the policy."""
        if isinstance(self._eviction, Punct):
            self.punctuate(marker)

    def punctuate(self, marker: Marker) -> None:
        """Flush all partitions at a window or final marker, if punctuations are the policy."""
        if not isinstance(self._eviction, Punct):
            super().punctuate(marker)
        if marker is Marker.drain:
            return
        if not len(self._partitions):
            self._tell(Event.empty_window_punct)
            return
        self._check_age()
        self._flush_all()

    def summary(self, key: Key = None) -> Summarizer | None:
        """Return the current summary of a partition, or None."""
        part = self._partitions.get(key)
        return None if part is None else part.summary

    # --- inserting and flushing ---------------------------------------------------------------

    def _crosses(self, eviction: Delta, part: Subwindow, row: Row) -> bool:
        if not len(part):
            return False
        first = part.entries[0][0] if len(part.entries) else part.reference
        return crosses(eviction, row, first)

    def _take(self, key: Key, part: Subwindow, row: Row) -> bool:
        """Insert a tuple; false: this evicted its partition."""
        handled = self._handlers.of_inserts
        if handled:
            self._tell(Event.before_insert, key, row)
        if self._summarizer is None:
            part.entries.append((row, self._clock.now_us))
        elif part.summarized:
            part.summary.insert(row)
            part.summarized += 1
        else:
            self._summarize(key, part).insert(row)
            part.reference, part.summarized = row, 1
        if self._per_key and isinstance(self._eviction, Time) and key not in self._clocks.due_us:
            self._clocks.put(key, self._clock.now_us + self._eviction.period_us)
        if handled:
            self._tell(Event.after_insert, key, row)
        return self._count_in(key)

    def _summarize(self, key: Key, part: Subwindow) -> Summarizer:
        if part.summary is None and self._summarizer is not None:
            part.summary = self._summarizer(key)
            part.summary.open()
            part.summary = self._left.pop(key, part.summary)
        summary: Summarizer = part.summary
        return summary

    def _flush(self, key: Key) -> None:
        part = self._partitions[key]
        summary, early = part.summary, self._profile is Profile.osstreams
        if summary is not None and early:
            summary.close()
        self._tell(Event.before_flush, key)
        if summary is not None and not early:
            summary.close()
            summary.destroy()
        self._partitions.empty(key)
        self._tell(Event.after_flush, key)
        if summary is not None and early:
            summary.destroy()

    def _flush_all(self) -> None:
        for key in self._partitions:
            self._flush(key)
            self._partitions.remove(key)

    def _give_up(self, key: Key) -> None:
        summary = self._partitions[key].summary
        if summary is not None:
            summary.destroy()
        self._clocks.drop(key)
        super()._give_up(key)

    # --- by the clock -------------------------------------------------------------------------

    def next_due(self) -> DueAction | None:
        """Return what is due next; None: nothing."""
        earliest = self._clocks.earliest()
        if earliest is None or not isinstance(self._eviction, Time):
            return None
        (due_us, key), period_us = earliest, self._eviction.period_us
        tick = self._tick_own if self._per_key else self._tick_all
        return due_us, True, lambda: tick(key, period_us)

    def _tick_all(self, key: Key, period_us: int) -> None:
        """Flush all partitions by the window's clock, even an empty window."""
        self._clocks.put(key, self._clock.now_us + period_us)
        self._check_age()
        if not len(self._partitions):
            if self.partitioned and self._profile is Profile.paper:
                return
            part = self._partitions.open(
                DEFAULT_KEY if self.partitioned else None, self._clock.now_us
            )
            if self._summarizer is not None:
                self._summarize(DEFAULT_KEY if self.partitioned else None, part)
        self._flush_all()

    def _tick_own(self, key: Key, period_us: int) -> None:
        """Flush a partition by its own clock (3.3.3), which stops after an empty period."""
        self._clocks.drop(key)
        self._check_age()
        if key in self._partitions:
            self._clocks.put(key, self._clock.now_us + period_us)
            self._flush(key)
            self._partitions.remove(key)

    def _resume(self) -> None:
        super()._resume()
        if isinstance(self._eviction, Time):
            period_us, now_us = self._eviction.period_us, self._clock.now_us
            for key, due_us in list(self._clocks.due_us.items()):
                self._clocks.put(key, skip_past(due_us, period_us, now_us))

    # --- state --------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the window's state, including that of summarizers."""
        clocks = [[key, due_us] for key, due_us in self._clocks.due_us.items()]
        left = [[key, summary.state()] for key, summary in self._left.items()]
        return {
            "partitions": self._partitions_state(),
            "clocks": clocks,
            "left": left,
            "suspended": self._suspended,
        }

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot; summarizers of existing partitions restore their states."""
        library = self._profile is Profile.osstreams
        if library and len(snapshot["partitions"]) != len(self._partitions):
            self._drop_summaries()
        parts = {key: self._partitions[key].summary for key in self._partitions}
        self._left = {key: summary for key, summary in parts.items() if summary is not None}
        self._restore_partitions(snapshot["partitions"])
        if not library:
            for summary in self._left.values():
                summary.destroy()
            self._left = {}
        if timers and self._summarizer is not None:
            for key, state in snapshot["left"]:
                left = self._left[hashable(key)] = self._summarizer(hashable(key))
                left.restore(state)
        self._suspended = snapshot["suspended"] if timers else True
        if self._per_key or timers:
            self._clocks.clear()
            for key, due_us in snapshot["clocks"]:
                self._clocks.put(hashable(key), due_us)

    def reset(self) -> None:
        """Delete all state, and destroy summaries."""
        self._drop_summaries()
        self._partitions.clear()
        if self._per_key:
            self._clocks.clear()
        self.suspend()

    def _drop_summaries(self) -> None:
        for key in self._partitions:
            summary = self._partitions[key].summary
            if summary is not None:
                summary.destroy()
                self._partitions[key].summary = None

    def _subwindow_state(self, key: Key) -> list[Any]:
        part = self._partitions[key]
        summary = None if part.summary is None else part.summary.state()
        return [*super()._subwindow_state(key), part.summarized, part.reference, summary]

    def _restore_more(self, key: Key, part: Subwindow, more: list[Any]) -> None:
        part.summarized, part.reference, state = more
        if state is not None and self._summarizer is not None:
            part.summary = self._left.pop(key, None) or self._summarizer(key)
            part.summary.restore(state)
