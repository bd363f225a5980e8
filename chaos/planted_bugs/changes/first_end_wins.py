"""A driver for which a query ends at the instant that was read first.

Defect: of several ends, the first one stands, not the earliest.
How one gets it: a query that has an end is not given another one.
Expected: rows of windows behind the earliest end, depending on the batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.model.file.changes import Copy, _ends


def at_the_first(
    known: Mapping[str, Any], left: Mapping[str, int], until_us: int, copy: Copy
) -> dict[str, Any]:
    """Return the end that is there, if there is one."""
    return _ends(known, left, known.get("until", until_us), copy)


BUG = planted_bug(
    believing("first_end_wins", {"windowing.model.file.changes:_ends": at_the_first}),
    *("deterministic", "conservation", "closing", "dead letters", "no error"),
    shows_in=some_query(several_lanes),
)
