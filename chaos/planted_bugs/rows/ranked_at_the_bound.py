"""Rows in order of time that are numbered when progress reaches them, not when it passes.

Defect: `ts <= P` instead of `ts < P`, although more rows at that time may come.
How one gets it: a watermark read as inclusive.
Expected: windows close too early, or hold other rows.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import ranked_rows, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import AT
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables
from windowing.engine.windows.rows import ROWS, RankedShardPart
from windowing.engine.windows.stamps import per_row


class EagerShardPart(RankedShardPart):
    """Numbers rows that progress has reached."""

    def _passed(self, tables: Tables, progress: Progress) -> pl.DataFrame:
        rows = tables[ROWS]
        return rows.filter(pl.col(AT) <= per_row(progress.of(rows)))

    def next_due_us(self, tables: Tables, after: Progress) -> int:  # noqa: D102
        rows = tables[ROWS]
        at = rows.filter(pl.col(AT) > per_row(after.of(rows)))[AT].to_numpy()
        return int(at.min(initial=ENDED))

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        # Compact as early as rows are numbered.
        rows = tables[ROWS]
        waiting = rows.filter(pl.col(AT) > per_row(after.of(rows)))
        numbered = rows.filter(pl.col(AT) <= per_row(after.of(rows)))
        before = pl.col(AT) - 1  # as if they were a little earlier
        return super().retained(
            {**tables, ROWS: pl.concat([waiting, numbered.with_columns(before.alias(AT))])}, after
        )


BUG = planted_bug(
    planted("ranked_at_the_bound", EagerShardPart),
    "deterministic",
    "closing",
    shows_in=some_query(ranked_rows),
)
