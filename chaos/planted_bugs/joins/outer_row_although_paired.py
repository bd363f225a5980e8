"""An outer join that looks only in the newest batch for a record's partner.

Defect: a record matched in an earlier batch is emitted alone when it is due.
How one gets it: "unmatched" is a flag of the batch, not of the state.
Expected: unmatched rows of records that have a partner.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import outer, some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart, _Moved
from windowing.model.join import Side


class ForgetfulShardPart(JoinShardPart):
    """Knows only the new pairs."""

    def _alone(self, side: Side, moved: _Moved, pairs: pl.DataFrame) -> list[pl.DataFrame]:
        place = [f"{side}:partition", f"{side}:offset"]
        due = pl.col("due").is_between(moved.since, moved.until, closed="right")
        records = moved.sides[side].with_columns(due=self._due_alone(side, f"{side}:"))
        alone = records.filter(due).join(pairs.select(place), on=place, how="anti")
        return [self._rows.of(alone, retracts=False)]


BUG = planted_bug(
    planted("outer_row_although_paired", ForgetfulShardPart),
    "deterministic",
    shows_in=some_join(outer),
)
