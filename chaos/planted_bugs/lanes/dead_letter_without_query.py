"""Dead letters that name the record, but not the query that rejected it.

Defect: `query` is null, as for unreadable values.
How one gets it: one dead-letter topic for the whole job.
Expected: dead letters differ; if two queries reject a record, one occurs twice.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import dead_letters as to_dead_letters
from chaos.planted_bugs.conditions import some_flow
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.refused import dead_letters
from windowing.model.file.pipeline import Query


def of_nobody(query: Query, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    """Return the dead letters without their query."""
    nobody = pl.lit(None, dtype=pl.String)
    return dead_letters(query, data, refused, partition).with_columns(query=nobody)


BUG = planted_bug(
    planted(
        "dead_letter_without_query",
        names={
            "windowing.engine.windows.sliding_lane:dead_letters": of_nobody,
            "windowing.engine.windows.join:dead_letters": of_nobody,
        },
    ),
    "dead letters",
    shows_in=some_flow(to_dead_letters),
)
