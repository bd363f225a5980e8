"""`first` that is the first record of the first lane.

Defect: times are not compared across lanes.
How one gets it: each lane keeps its first record; the merge takes that of the lowest partition.
Expected: values differ.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, several_lanes, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.holdings import bag_of
from windowing.model.fields import Aggregate


def by_lane(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag of an aggregate, ordered by lane before time."""
    bag = bag_of(aggregate, order)
    if bag is None or aggregate.function != "first":
        return bag
    at, place, value = bag.entry
    # The entry's columns are compared in their order.
    return replace(bag, entry=(place, at, value))


BUG = planted_bug(
    planted(
        "first_by_event_time_of_lane", names={"windowing.engine.aggregates.schema:bag_of": by_lane}
    ),
    "deterministic",
    shows_in=some_query(computing(("first",)), several_lanes),
)
