"""Compaction that keeps the query that triggered it, and loses the others.

Defect: the base is made from the state read for the rows that are due.
How one gets it: a read that was narrowed later, for speed.
Expected: rows of other queries are missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_queries, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.state import StateStore
from windowing.engine.tables import replace
from windowing.engine.windows.part import Tables


def of_the_first(store: StateStore, deltas: int, queries: Mapping[str, Tables]) -> None:
    """Keep the first query only."""
    first = min(queries, default="")
    replace(store, deltas, {name: part for name, part in queries.items() if name == first})


BUG = planted_bug(
    planted("compaction_keeps_one_query", names={"windowing.engine.tables:replace": of_the_first}),
    "deterministic",
    shows_in=some_query(several_queries),
)
