"""A lane that limits the windows of each query, and not those of all that it has added.

Defect: there is no limit for all queries of a lane together.
How one gets it: each query is checked by itself.
Expected: queries join, and their copy is no dead letter: what a record costs has no bound.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing

BUG = planted_bug(
    believing(
        "windows_of_a_query_counted", {"windowing.model.file.allowed:LANE_CELLS_MAX": 1 << 40}
    ),
    *("dead letters", "deterministic", "conservation"),
)
