"""A driver for which the copy of a query that was read first stands.

Defect: of two that differ, the later one is the dead letter, whichever lanes they are in.
How one gets it: what is there is compared with what comes.
Expected: the dead letter of another copy, depending on the batches.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.model.file.conflicts import Conflict, OwnCopy, Place
from windowing.model.source import Source


def beside_the_first(
    conflict: Conflict, lane: str, own: OwnCopy, source: Source, refused: Mapping[Place, Place]
) -> Conflict:
    """Refuse the copy that comes, if there is another one."""
    del source, refused
    if any(copy.query != own.query for copy in conflict.values()):
        own = own.model_copy(update={"refused_at": (lane, own.at)})
    return {**conflict, lane: own}


BUG = planted_bug(
    believing("first_copy_wins", {"windowing.model.file.changes:with_copy": beside_the_first}),
    *("dead letters", "deterministic", "conservation", "no error", "repeatable"),
    shows_in=some_query(several_lanes),
)
