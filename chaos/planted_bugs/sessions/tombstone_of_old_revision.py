"""Tombstones that carry the number of the row that they bury.

Defect: the revision is not raised, so that a sink which keeps one row per identity may keep either.
How one gets it: a tombstone is taken for a deletion of that very row.
Expected: an identity stands twice, and the tombstone's own is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Sent, _Session, _tombstone


def same_number(sessions: Sequence[_Session], last: Sent, instant: int) -> Sent:
    """A tombstone under the number of the last row."""
    return replace(_tombstone(sessions, last, instant), revision=last.revision)


BUG = planted_bug(
    planted(
        "tombstone_of_old_revision",
        names={"windowing.engine.windows.session_course:_tombstone": same_number},
    ),
    "deterministic",
    "exactly once",
    shows_in=some_query(session, updates),
)
