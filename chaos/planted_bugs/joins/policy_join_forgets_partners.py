"""A join over policy windows that stores its windows without what was matched.

Defect: after a compaction, a stored record counts as unmatched.
How one gets it: a snapshot of the windows, and none of the operator's own marks.
Expected: records that have a partner are sent alone when they leave their window.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import outer, some_policy_join
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.join_course import MATCHED
from windowing.engine.rows.join_part import PolicyJoinShardPart
from windowing.engine.windows.join_rows import SIDES
from windowing.engine.windows.part import Tables


class UnmarkedShardPart(PolicyJoinShardPart):
    """Resets the marks of stored records."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        kept = super().retained(tables, after)
        forgotten = {
            side: kept[side].with_columns(pl.col(MATCHED) & False)
            for side in SIDES
            if MATCHED in kept[side].columns
        }
        return kept | forgotten


BUG = planted_bug(
    planted("policy_join_forgets_partners", UnmarkedShardPart),
    "deterministic",
    shows_in=some_policy_join(outer),
)
