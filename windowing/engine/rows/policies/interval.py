"""Event-time interval windows: panes of a fixed length, closed by watermarks.

Source: the published library's extension (`spl.md` section 7); the paper has none. The same in both
profiles. Times are integers in the unit of the attribute.
"""

from __future__ import annotations

from typing import Any

from windowing.engine.rows.policies.events import (
    LATE,
    ON_COMPLETE,
    Event,
    Handler,
    Handlers,
    Key,
    Pane,
    Row,
)
from windowing.engine.rows.policies.window import PartitionBy, hashable, key_function
from windowing.model.windows.policy import Marker, PolicyError


class IntervalWindow:
    """A window of panes over an attribute of the tuples.

    Args:
        attribute: the field that holds a tuple's time, a whole number.
        duration: the length of a pane, positive.
        period: the distance between panes' starts; by default the duration. A larger one leaves
            gaps.
        offset: panes start whole periods from here.
        discard_age: how far behind the watermark panes are kept and tuples accepted.
        partition_by: as for other windows.

    Raises:
        PolicyError: a length is invalid.
    """

    def __init__(
        self,
        attribute: str,
        duration: int,
        *,
        period: int | None = None,
        offset: int = 0,
        discard_age: int = 0,
        partition_by: PartitionBy = None,
    ) -> None:
        period = duration if period is None else period
        for name, value, least in (
            ("duration", duration, 1),
            ("period", period, 1),
            ("offset", offset, 0),
            ("discard_age", discard_age, 0),
        ):
            if value < least:
                msg = f"{name} {value!r}: give {least} or more"
                raise PolicyError(msg)
        self._attribute, self._duration, self._period = attribute, duration, period
        self._offset, self._discard_age = offset % period, discard_age
        self._key_of = key_function(partition_by)
        self._handlers = Handlers()
        self._tell = self._handlers.tell
        self._panes: dict[int, Pane] = {}
        self._watermark = 0

    def on(self, kind: Event | str, handler: Handler | None) -> Handler | None:
        """Register the handler of a kind of event; return the previous one."""
        return self._handlers.register(kind, handler)

    def rows(self, pane: Pane, key: Key = None) -> list[Row] | None:
        """Return the tuples of a partition of a pane, oldest first, or None."""
        found = pane.rows.get(key)
        return None if found is None else list(found)

    @property
    def panes(self) -> list[Pane]:
        """The panes that are open, or kept for late tuples, by start."""
        return [self._panes[start] for start in sorted(self._panes)]

    def insert(self, row: Row) -> None:
        """Insert a tuple into all panes that contain its time, latest first."""
        at, key = row[self._attribute], self._key_of(row)
        if at < max(self._watermark - self._discard_age, 0) or at < self._offset:
            return
        start = at - (at - self._offset) % self._period
        while start > max(at - self._duration, 0):
            self._put(start, key, row)
            start -= self._period

    def _put(self, start: int, key: Key, row: Row) -> None:
        pane = self._panes.setdefault(start, Pane(start, start + self._duration))
        rows = pane.rows.setdefault(key, [])
        self._tell(Event.before_insert, key, row, pane=pane)
        rows.append(row)
        pane.updated[key] = None
        self._tell(Event.after_insert, key, row, pane=pane)

    def advance_watermark(self, watermark: int) -> None:
        """Process a watermark: later tuples below it are late."""
        if watermark <= self._watermark:
            return
        self._watermark = watermark
        for pane in self.panes:
            self._complete(pane)
            self._report(pane)
            if pane.complete and watermark >= pane.end + self._discard_age:
                for key in pane.rows:
                    self._tell(Event.before_close, key, pane=pane)
                del self._panes[pane.start]

    def _complete(self, pane: Pane) -> None:
        if pane.complete or self._watermark < pane.end:
            return
        pane.complete = True
        for key in pane.rows:
            self._tell(Event.initial_full, key, pane=pane)
        pane.timing = ON_COMPLETE

    def _report(self, pane: Pane) -> None:
        if not pane.complete or not pane.updated:
            return
        updated, pane.updated = pane.updated, {}
        for key in updated:
            self._tell(Event.trigger, key, pane=pane)
        pane.timing = LATE
        pane.index += 1

    def punctuate(self, marker: Marker) -> None:
        """Ignore punctuations."""

    def snapshot(self) -> dict[str, Any]:
        """Return the window's state, as plain values and the tuples themselves."""
        panes = [
            [p.start, p.complete, p.timing, p.index, [*p.rows.items()], [*p.updated]]
            for p in self.panes
        ]
        return {"watermark": self._watermark, "panes": panes}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a snapshot."""
        self._watermark = snapshot["watermark"]
        self._panes = {
            start: Pane(
                start,
                start + self._duration,
                complete,
                timing,
                index,
                {hashable(key): list(rows) for key, rows in parts},
                dict.fromkeys(map(hashable, updated)),
            )
            for start, complete, timing, index, parts, updated in snapshot["panes"]
        }
