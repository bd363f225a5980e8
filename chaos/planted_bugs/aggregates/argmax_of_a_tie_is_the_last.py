"""`argmax` that picks the last of equal values in canonical order.

Defect: ties are sorted in descending order, like the values.
How one gets it: the whole sort is reversed.
Expected: values differ where the largest occurs twice.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.holdings import bag_of
from windowing.model.fields import Aggregate


def reversed_as_a_whole(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag of an aggregate with value and position both descending."""
    bag = bag_of(aggregate, order)
    falls = bag is not None and aggregate.function == "argmax"
    return replace(bag, falling=4) if bag is not None and falls else bag


BUG = planted_bug(
    planted(
        "argmax_of_a_tie_is_the_last",
        names={"windowing.engine.aggregates.schema:bag_of": reversed_as_a_whole},
    ),
    "deterministic",
    shows_in=some_query(computing(("argmax",))),
)
