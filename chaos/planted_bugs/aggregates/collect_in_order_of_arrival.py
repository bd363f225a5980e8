"""Lists in order of arrival, not in canonical order.

Defect: `collect` is ordered by offset.
How one gets it: appending to a list.
Expected: lists differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.ranks import _ROW, VALUE, _per_state, listed


def appended(bag: Bag, partials: pl.DataFrame, most: int | None = None) -> pl.Series:
    """Return the values of each bag in the order of their offsets."""
    entries = bag.entries(partials)
    if "#offset" not in entries.columns:
        return listed(bag, partials, most)
    ordered = entries.sort(_ROW, "#offset", maintain_order=True)
    lists = ordered.group_by(_ROW, maintain_order=True).agg(pl.col(VALUE))
    return _per_state(partials, lists)


BUG = planted_bug(
    planted(
        "collect_in_order_of_arrival", names={"windowing.engine.aggregates.ranks:listed": appended}
    ),
    "deterministic",
    shows_in=some_query(computing(("collect",))),
)
