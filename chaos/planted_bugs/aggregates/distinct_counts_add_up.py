"""Distinct values that are counted in each partial state and added up.

Defect: a value in two partial states counts twice.
How one gets it: merging counts instead of sets.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import COUNT, Bag
from windowing.engine.aggregates.ranks import _ROW, VALUE, _per_state


def added_up(bag: Bag, partials: pl.DataFrame) -> list[int | None]:
    """Return the total number of entries of each bag."""
    counts = bag.entries(partials).group_by(_ROW).agg(pl.col(COUNT).sum().alias(VALUE))
    return _per_state(partials, counts).to_list()


BUG = planted_bug(
    planted(
        "distinct_counts_add_up", names={"windowing.engine.aggregates.ranks:distinct": added_up}
    ),
    "deterministic",
    shows_in=some_query(computing(("count_distinct",))),
)
