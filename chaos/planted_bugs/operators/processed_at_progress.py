"""Records that operators process as soon as progress reaches them.

Defect: `<=` instead of `<`: others of the same time may still come.
How one gets it: progress is read as the newest time that is complete.
Expected: a record in canonical order that comes after a later one, or a row before it is due.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from msgspec import structs

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import canonical, some_operators
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress, StreamProgress
from windowing.engine.rows.shard_part import RowShardPart
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables


class HastyShardPart(RowShardPart):
    """A shard's part that takes progress for one more than it is."""

    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        """Process records up to progress, inclusively."""
        assert isinstance(after, StreamProgress)  # noqa: S101 - operators go by event time
        lanes = [
            structs.replace(lane, progress_us=min(lane.progress_us + 1, ENDED))
            for lane in after.lanes
        ]
        return super().advance(tables, replace(after, lanes=lanes), wall_us)

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the instant of the first record, not the one after it."""
        due_us = super().next_due_us(tables, after)
        return due_us if due_us == ENDED else due_us - 1


BUG = planted_bug(
    planted("processed_at_progress", HastyShardPart),
    *("deterministic", "closing"),
    shows_in=some_operators(canonical),
)
