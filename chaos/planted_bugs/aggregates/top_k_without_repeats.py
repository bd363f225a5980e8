"""`top_k` without repeated values.

Defect: a set in place of a bag.
How one gets it: a sorted set as the state.
Expected: values differ where a large one occurs twice.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.holdings import bag_of
from windowing.model.fields import Aggregate


def as_a_set(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag of an aggregate with every value once."""
    bag = bag_of(aggregate, order)
    return replace(bag, counted=False) if bag is not None and aggregate.function == "top_k" else bag


BUG = planted_bug(
    planted("top_k_without_repeats", names={"windowing.engine.aggregates.schema:bag_of": as_a_set}),
    "deterministic",
    shows_in=some_query(computing(("top_k",))),
)
