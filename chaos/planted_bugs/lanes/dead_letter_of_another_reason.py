"""Dead letters with the reason "late" for records beyond retention.

Defect: one reason for all late records.
How one gets it: a counter of late records, and a topic for them.
Expected: a dead letter differs.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_flow, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.refused import dead_letters
from windowing.model.file.pipeline import Query


def just_late(query: Query, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    """Return the dead letters, all with the reason "late"."""
    late = pl.lit("late", dtype=pl.String)
    return dead_letters(query, data, refused, partition).with_columns(reason=late)


BUG = planted_bug(
    planted(
        "dead_letter_of_another_reason",
        names={
            "windowing.engine.windows.sliding_lane:dead_letters": just_late,
            "windowing.engine.windows.join:dead_letters": just_late,
        },
    ),
    "dead letters",
    shows_in=some_flow(updates),
)
