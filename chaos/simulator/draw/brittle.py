"""An operator as a user would write it, for drawn pipelines, that fails for some tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chaos.simulator.draw.reporter import Key, Reporter, Rows


class BrittleReporter(Reporter):
    """Fails at multiples of three, at nulls, and after some of what it has sent already."""

    def on_evict(self, key: Key, row: Mapping[str, Any], rows: Rows) -> Iterator[dict[str, Any]]:
        """Report a tuple that leaves; fail behind that if it was the last but one."""
        yield from super().on_evict(key, row, rows)
        if len(rows) == 2:
            raise LookupError

    def _report(self, event: str, rows: Rows) -> dict[str, Any]:
        1 // (rows[-1]["v"] % 3)
        return super()._report(event, rows)
