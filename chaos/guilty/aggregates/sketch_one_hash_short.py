"""Approximate numbers of distinct values over one hash less than they are said to keep.

Defect: size - 1 hashes survive a merge.
How one gets it: `heap[: k - 1]`.
Expected: values differ once there are more distinct values than hashes.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.guilty.guilt import guilty
from chaos.guilty.lairs import lair
from chaos.guilty.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.aggregates.bags import Bag
from windowing.aggregates.holdings import bag_of
from windowing.spec.fields import Aggregate
from windowing.spec.pipeline import Pipeline, Query


def of_few_hashes(_: Pipeline, query: Query) -> bool:
    """Some aggregate keeps fewer hashes than there may be values."""
    kept = [a.parameters for a in query.aggregates if a.function == "approx_count_distinct"]
    return any(size < 100 for (size,) in kept)


def shorter(aggregate: Aggregate, order: str) -> Bag | None:
    """The bag of an aggregate, of hashes one short."""
    bag = bag_of(aggregate, order)
    if bag is None or bag.keep is None or aggregate.function != "approx_count_distinct":
        return bag
    return replace(bag, keep=bag.keep - 1)


GUILTY = guilty(
    planted("sketch_one_hash_short", names={"windowing.aggregates.plan:bag_of": shorter}),
    "deterministic",
    lair=lair(of_few_hashes),
    wish=Wish(long=0.5),
)
