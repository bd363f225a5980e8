"""Lanes that take a query whose first records they have read already.

Defect: whether a copy of a change is too late is judged by the lane's progress alone.
How one gets it: records are taken to be no later than progress, which is their lower bound.
Expected: no dead letter, and rows that lack records; or the state cannot be converted.
"""

from dataclasses import replace

import msgspec

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query, with_extents_in_time
from chaos.planted_bugs.planted import planted
from windowing.engine.changes import _is_late
from windowing.engine.progress.reached import Reached
from windowing.engine.wids import NOTHING_YET
from windowing.model.file.changes import Change


def late_by_progress(change: Change, reached: Reached) -> bool:
    """Forget the newest record."""
    return _is_late(change, msgspec.structs.replace(reached, newest_us=NOTHING_YET))


BUG = planted_bug(
    replace(
        planted(
            "change_late_by_progress_alone",
            names={"windowing.engine.changes:_is_late": late_by_progress},
        ),
        changes=True,
    ),
    "no error",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=some_query(with_extents_in_time),
)
