"""A user's operator for pipelines of these tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


class Spread:
    """Sends the spread of a window's numbers as it ends or reports, and partitions given up."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def on_flush(self, key: tuple[Any, ...], rows: Rows) -> list[dict[str, Any]]:
        """Send the spread."""
        return [self._spread(key, rows, "flush")]

    on_trigger = on_flush

    def on_partition_eviction(self, key: tuple[Any, ...], rows: Rows) -> list[dict[str, Any]]:
        """Send the spread of what is lost."""
        return [self._spread(key, rows, "evicted")]

    def _spread(self, key: tuple[Any, ...], rows: Rows, why: str) -> dict[str, Any]:
        numbers = [row["v"] for row in rows]
        return {"why": f"{why} {key}{self._unit}", "spread": max(numbers) - min(numbers)}
