"""Medians of an even number of values that are the lower of the two middle ones.

Defect: the upper one is ignored.
How one gets it: `sorted(values)[n // 2]`, or the quantile of one half.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.ranks import _ranked


def lower(bag: Bag, partials: pl.DataFrame) -> list[float | None]:
    """Return the middle value of each bag, or the lower of two."""
    found = _ranked(bag, partials, lambda count: (count + 1) // 2).to_list()
    return [None if value is None else float(value) for value in found]


BUG = planted_bug(
    planted(
        "median_is_the_lower_middle", names={"windowing.engine.aggregates.ranks:median": lower}
    ),
    "deterministic",
    shows_in=some_query(computing(("median",))),
)
