"""`last` that picks the first of simultaneous records in canonical order.

Defect: a tie is broken as for `first`.
How one gets it: `>` instead of `>=` in a loop over ordered records.
Expected: values differ where times are equal.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.holdings import bag_of
from windowing.model.fields import Aggregate


def first_of_ties(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag of an aggregate with time descending and ties ascending."""
    bag = bag_of(aggregate, order)
    return replace(bag, falling=1) if bag is not None and aggregate.function == "last" else bag


BUG = planted_bug(
    planted(
        "last_of_a_tie_is_the_first",
        names={"windowing.engine.aggregates.schema:bag_of": first_of_ties},
    ),
    "deterministic",
    shows_in=some_query(computing(("last",))),
)
