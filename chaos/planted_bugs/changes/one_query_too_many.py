"""A lane that takes one query more than its source permits.

Defect: the first query that a lane has added is not counted.
How one gets it: "more than" where "as many as" is meant.
Expected: a query joins, and its copy is no dead letter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from windowing.model.file.allowed import _permits


def without_the_first(of: Any) -> Any:
    """Return what is permitted beside all queries but the first one of each lane."""
    found = _permits(of)
    return replace(found, added={lane: added[1:] for lane, added in found.added.items()})


BUG = planted_bug(
    believing("one_query_too_many", {"windowing.model.file.allowed:_permits": without_the_first}),
    *("dead letters", "deterministic", "conservation", "no error"),
)
