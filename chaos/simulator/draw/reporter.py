"""An operator as a user would write it, for drawn pipelines: it reports every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
Key = tuple[Any, ...]


class Reporter:
    """Sends a tuple at most events of its window.

    Attributes:
        scale: a factor of the number that it shows.
    """

    def __init__(self, scale: float = 1) -> None:
        self.scale = scale

    def on_insert(
        self, key: Key, row: Mapping[str, Any], rows: Rows
    ) -> list[dict[str, Any]] | None:
        """Report every third tuple of a window."""
        del key, row
        return [self._report("insert", rows)] if len(rows) % 3 == 0 else None

    def on_evict(self, key: Key, row: Mapping[str, Any], rows: Rows) -> Iterator[dict[str, Any]]:
        """Report a tuple that leaves, and what there was with it."""
        del key
        yield {**self._report("evict", rows), "oldest": row["v"]}

    def on_trigger(self, key: Key, rows: Rows) -> Iterator[dict[str, Any]]:
        """Report the window, once for all and once for the key's first value."""
        yield self._report("trigger", rows)
        if key:
            yield self._report(f"trigger {key[0]}", rows)

    def on_flush(self, key: Key, rows: Rows) -> list[dict[str, Any]]:
        """Report the window."""
        del key
        return [self._report("flush", rows)]

    def on_full(self, key: Key, rows: Rows) -> list[dict[str, Any]]:
        """Report that the window is full."""
        del key
        return [self._report("full", rows)]

    def on_partition_eviction(self, key: Key, rows: Rows) -> list[dict[str, Any]]:
        """Report a partition that is given up."""
        return [self._report(f"evicted {key}", rows)]

    def _report(self, event: str, rows: Rows) -> dict[str, Any]:
        newest = rows[-1]["x"]
        shown = None if newest is None else _finite(newest * self.scale)
        return {"event": event, "held": len(rows), "oldest": rows[0]["v"], "x": shown}


def _finite(number: float) -> float:
    return max(-1e300, min(1e300, number))
