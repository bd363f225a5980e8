"""Approximate distinct counts whose hash has another seed in every batch.

Defect: a value in two batches counts as two values.
How one gets it: `hash()`, whose seed is drawn when a process starts.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.sketches import hashes


def seeded(values: pl.Series) -> pl.Series:
    """Return the hash of each value, seeded with the batch's size."""
    return hashes(values) ^ len(values)


BUG = planted_bug(
    planted("hash_with_a_seed", names={"windowing.engine.aggregates.holdings:hashes": seeded}),
    "deterministic",
    shows_in=some_query(computing(("approx_count_distinct",))),
)
