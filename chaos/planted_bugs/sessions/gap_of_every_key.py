"""Sessions whose gap is the same for all keys.

Defect: per-key gaps are ignored.
How one gets it: a map of exceptions that is parsed, validated, and not used.
Expected: sessions of such keys differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query, with_own_gaps
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import GAP
from windowing.model.file.pipeline import Query


def of_all(query: Query, pieces: pl.DataFrame) -> pl.DataFrame:
    """Return pieces that all have the same `gap`."""
    return pieces.with_columns(pl.lit(query.window.range_, dtype=pl.Int64).alias(GAP))


BUG = planted_bug(
    planted(
        "gap_of_every_key",
        names={
            "windowing.engine.windows.session:with_gap": of_all,
        },
    ),
    "deterministic",
    shows_in=some_query(with_own_gaps),
)
