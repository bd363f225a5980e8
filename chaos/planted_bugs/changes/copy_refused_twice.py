"""Lanes that write two dead letters for a copy that was taken, and refused later.

Defect: its own lane writes one, and the lane with which it was settled another one.
How one gets it: both know that it is refused.
Expected: an identity stands twice, if both are in one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.engine.changes import _settled
from windowing.model.file.pipeline import Pipeline


def in_both_places(pipeline: Pipeline) -> Mapping[tuple[str, int], list[Any]]:
    """Return the copies that are refused, by their own places, too."""
    found = {place: [*letters] for place, letters in _settled(pipeline).items()}
    for place, letters in [*_settled(pipeline).items()]:
        for letter in letters:
            own = pipeline.source.lane(letter.partition), letter.offset
            if own != place:
                found.setdefault(own, []).append(letter)
    return found


BUG = planted_bug(
    believing("copy_refused_twice", {"windowing.engine.changes:_settled": in_both_places}),
    *("dead letters", "conservation", "exactly once"),
    shows_in=some_query(several_lanes),
)
