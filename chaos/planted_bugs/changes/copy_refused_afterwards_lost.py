"""A lane that writes no dead letter for a copy that was taken, and refused later.

Defect: a copy is a dead letter only where it is read.
How one gets it: another lane's copy is in another batch, and the lane has passed its own.
Expected: the dead letter is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.engine.changes import _settled
from windowing.model.file.pipeline import Pipeline


def where_it_is(pipeline: Pipeline) -> Mapping[tuple[str, int], list[Any]]:
    """Return the copies that are refused with themselves."""
    lane = pipeline.source.lane
    found = _settled(pipeline)
    return {
        place: [one for one in letters if (lane(one.partition), one.offset) == place]
        for place, letters in found.items()
    }


BUG = planted_bug(
    believing("copy_refused_afterwards_lost", {"windowing.engine.changes:_settled": where_it_is}),
    *("dead letters", "conservation"),
    shows_in=some_query(several_lanes),
)
